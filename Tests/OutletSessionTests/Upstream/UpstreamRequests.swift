import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Synchronization
import Testing

private struct Parameter: Codable, Sendable {
    var property = "one"
}

private struct Multipart: URLRequestConvertible {
    func asURLRequest() throws -> URLRequest {
        try URLRequest(url: "http://example.test/post", method: .post, headers: ["A": "b"])
    }
}

/// Overrides methods that upstream declares `open`.
private final class TracingSession: Session, @unchecked Sendable {
    let urls = Recorder<String>()

    override func request(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        urls.record("request")
        return super.request(
            convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    override func upload(
        _ data: Data, with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        urls.record("upload")
        return super.upload(data, with: convertible)
    }
}

/// Calls each request factory with upstream's names: with all optional parameters, and with none.
@Suite(.timeLimit(.minutes(patience))) struct UpstreamRequestTests {
    let url = "http://example.test/get"
    let AF = Session(transport: StubTransport { _ in .json(#"{"property":"one"}"#) })
    let interceptor = Interceptor()
    let modifier: Session.RequestModifier = { $0.timeoutInterval = 5 }
    let destination: DownloadRequest.Destination = { url, _ in
        (url, [.createIntermediateDirectories, .removePreviousFile])
    }

    @Test func `data requests can be created with upstream names`() throws {
        let request = try URLRequest(url: url, method: .get, headers: nil)
        let all = [
            AF.request(url),
            AF.request(URL(string: url)!),
            AF.request(
                url, method: .get, parameters: ["a": 1, "b": ["c", "d"]],
                encoding: URLEncoding.queryString, headers: [.accept("a/b")],
                interceptor: interceptor, requestModifier: modifier,
                shouldAutomaticallyResume: true),
            AF.request(
                url, method: .post, parameters: ["a": 1], encoding: JSONEncoding.default),
            AF.request(
                url, method: .post, parameters: Parameter(), encoder: .json,
                headers: ["a": "b"], interceptor: interceptor, requestModifier: modifier,
                shouldAutomaticallyResume: false),
            AF.request(url, method: .put, parameters: ["a": "b"], encoder: .urlEncodedForm),
            AF.request(url, parameters: ["a": "b"]),
            AF.request(url) { $0.timeoutInterval = 1 },
            AF.request(request),
            AF.request(
                request, interceptor: .retryPolicy, shouldAutomaticallyResume: false),
            AF.request(Multipart(), interceptor: interceptor),
        ]
        #expect(all.allSatisfy { $0.state == .initialized })
    }

    @Test func `streams can be created with upstream names`() throws {
        let request = try URLRequest(url: url, method: .get)
        let all = [
            AF.streamRequest(url),
            AF.streamRequest(
                url, method: .get, headers: nil, automaticallyCancelOnStreamError: true,
                interceptor: interceptor, requestModifier: modifier,
                shouldAutomaticallyResume: false),
            AF.streamRequest(
                url, method: .post, parameters: Parameter(),
                encoder: JSONParameterEncoder.default, headers: nil,
                automaticallyCancelOnStreamError: false, interceptor: nil, requestModifier: nil,
                shouldAutomaticallyResume: nil),
            AF.streamRequest(request),
            AF.streamRequest(
                request, automaticallyCancelOnStreamError: true, interceptor: interceptor,
                shouldAutomaticallyResume: true),
        ]
        #expect(all.map(\.automaticallyCancelOnStreamError) == [false, true, false, false, true])
    }

    @Test func `downloads can be created with upstream names`() throws {
        let request = try URLRequest(url: url, method: .get)
        let all = [
            AF.download(url),
            AF.download(url, to: destination),
            AF.download(
                url, method: .get, parameters: ["a": 1], encoding: URLEncoding.default,
                headers: nil, interceptor: interceptor, requestModifier: modifier,
                shouldAutomaticallyResume: false, to: destination),
            AF.download(
                url, method: .post, parameters: Parameter(),
                encoder: URLEncodedFormParameterEncoder.default, headers: nil, interceptor: nil,
                requestModifier: modifier, shouldAutomaticallyResume: nil, to: destination),
            AF.download(request),
            AF.download(
                request, interceptor: interceptor, shouldAutomaticallyResume: true,
                to: DownloadRequest.suggestedDownloadDestination()),
            AF.download(resumingWith: Data()),
            AF.download(
                resumingWith: Data(), interceptor: interceptor, shouldAutomaticallyResume: nil,
                to: DownloadRequest.suggestedDownloadDestination(
                    for: .cachesDirectory, in: .userDomainMask, options: [.removePreviousFile])),
        ]
        #expect(all.allSatisfy { $0.resumeData == nil && $0.fileURL == nil })
    }

    @Test func `uploads can be created with upstream names`() throws {
        let request = try URLRequest(url: url, method: .post)
        let file = URL(filePath: "/nowhere")
        let stream: InputStream = TestStream("abc")
        let form = MultipartFormData()
        let all = [
            AF.upload(Data(), to: url),
            AF.upload(
                Data(), to: url, method: .put, headers: nil, interceptor: interceptor,
                fileManager: .default, requestModifier: modifier, shouldAutomaticallyResume: false),
            AF.upload(Data(), with: request),
            AF.upload(
                Data(), with: request, interceptor: nil, fileManager: .default,
                shouldAutomaticallyResume: nil),
            AF.upload(file, to: url, method: .post, headers: nil, requestModifier: modifier),
            AF.upload(file, with: request, interceptor: interceptor, fileManager: .default),
            AF.upload(stream, to: url, method: .post, headers: nil, interceptor: nil),
            AF.upload(stream, with: request, shouldAutomaticallyResume: false),
            AF.upload(multipartFormData: { $0.append(Data(), withName: "a") }, to: url),
            AF.upload(
                multipartFormData: { form in form.append(Data(), withName: "a") }, to: url,
                usingThreshold: MultipartFormData.encodingMemoryThreshold, method: .post,
                headers: nil, interceptor: interceptor, fileManager: .default,
                requestModifier: modifier),
            AF.upload(
                multipartFormData: { _ in }, with: request, usingThreshold: 0, interceptor: nil,
                fileManager: .default),
            AF.upload(
                multipartFormData: form, to: url, usingThreshold: 1, method: .post, headers: nil,
                interceptor: nil, fileManager: .default, requestModifier: nil,
                shouldAutomaticallyResume: false),
            AF.upload(
                multipartFormData: form, with: request, usingThreshold: 1, interceptor: nil,
                fileManager: .default, shouldAutomaticallyResume: nil),
        ]
        #expect(all.allSatisfy { $0.uploadable == nil })
    }

    @Test func `a subclass overrides the factories`() async {
        let session = TracingSession(transport: StubTransport { _ in .text("x") })
        _ = await session.request(url).serializingString().response
        _ = await session.upload(Data(), to: url).serializingString().response
        #expect(session.urls.values == ["request", "upload"])
    }

    @Test func `chained calls work in upstream's order`() async throws {
        let seen = Recorder<String>()
        let queue = DispatchQueue(label: "peer")
        let progress: Request.ProgressHandler = { _ in }
        let request = AF.request(url)
            .validate()
            .validate(statusCode: 200..<300)
            .validate(statusCode: [200, 204])
            .validate(contentType: ["application/json"])
            .validate { request, response, data in
                response.statusCode == 200 ? .success(()) : .failure(AFError.explicitlyCancelled)
            }
            .authenticate(username: "user", password: "password")
            .authenticate(with: URLCredential(user: "u", password: "p", persistence: .forSession))
            .redirect(using: .follow)
            .redirect(using: Redirector.doNotFollow)
            .downloadProgress { progress in _ = progress.fractionCompleted }
            .downloadProgress(queue: .main, closure: progress)
            .uploadProgress(queue: queue) { progress in _ = progress.completedUnitCount }
            .onURLRequestCreation { request in _ = request.url }
            .onURLRequestCreation(on: queue) { _ in }
            .onURLSessionTaskCreation { task in _ = task.state }
            .onURLSessionTaskCreation(on: .main) { _ in }
            .onHTTPResponse { response in _ = response.statusCode }
            .onHTTPResponse(on: queue) { response, completionHandler in completionHandler(.allow) }
            .cURLDescription { text in _ = text.count }
            .cURLDescription(on: queue) { _ in seen.record("curl") }
            .eventMonitor(ClosureEventMonitor(queue: queue))
            .interceptor(interceptor)
            .adapt(using: .adapter { request, _, completion in completion(.success(request)) })
            .retry(using: .retrier { _, _, _, completion in completion(.doNotRetry) })
            .response { response in seen.record("response \(response.data?.count ?? 0)") }
            .response(queue: queue) { (response: AFDataResponse<Data?>) in seen.record("queue") }
            .response(responseSerializer: .data) { response in seen.record("data") }
            .response(queue: queue, responseSerializer: StringResponseSerializer()) { _ in
                seen.record("string")
            }
            .response(responseSerializer: .decodable(of: Parameter.self)) { _ in
                seen.record("decodable")
            }
            .responseData { response in seen.record("responseData") }
            .responseData(
                queue: queue, dataPreprocessor: .passthrough, emptyResponseCodes: [204],
                emptyRequestMethods: [.head]
            ) { _ in seen.record("all") }
            .responseString(
                queue: queue, dataPreprocessor: .googleXSSI, encoding: .utf8,
                emptyResponseCodes: [], emptyRequestMethods: []
            ) { _ in seen.record("string") }
            .responseDecodable(of: Parameter.self) { response in seen.record("parameter") }
            .responseDecodable(
                of: Parameter.self, queue: queue, dataPreprocessor: PassthroughPreprocessor(),
                decoder: JSONDecoder(), emptyResponseCodes: [], emptyRequestMethods: []
            ) { (response: DataResponse<Parameter, AFError>) in
                seen.record("property \(response.value?.property ?? "")")
            }
            .responseJSON { response in
                let json = response.value?.anyValue as? [String: Any]
                seen.record("json \(json?["property"] as? String ?? "")")
            }
        let values = try await seen.values(12)
        #expect(values.contains("property one") && values.contains("json one"))
        while !request.isFinished, !Task.isCancelled { await Task.yield() }
        #expect(request.retryCount == 0 && request.error == nil)
        #expect(
            [request.isInitialized, request.isResumed, request.isSuspended] == [
                false, false, false,
            ])
        #expect(request.firstRequest != nil && request.lastRequest != nil && request.request != nil)
        #expect(request.requests.count == 2 && request.performedRequests.count == 1)
        #expect(request.tasks.count == 1 && request.firstTask != nil && request.lastTask != nil)
        #expect(request.allMetrics.count == 1 && request.firstMetrics == request.lastMetrics)
        #expect(request.uploadProgress.completedUnitCount == 0)
        #expect(request.downloadProgress.fractionCompleted == 1)
        #expect(request.interceptor != nil && request.redirectHandler != nil)
        #expect(request.credential?.user == "u" && request.eventMonitor != nil)
        #expect(
            request.underlyingQueue === AF.rootQueue && request.shouldAutomaticallyResume == nil)
        #expect(request.serializationQueue === AF.serializationQueue)
        #expect(request.description == "GET \(url) (200)" && request.data != nil)
        #expect(request.convertible.urlRequest?.url != nil)
        let delegate: (any RequestDelegate)? = request.delegate
        #expect(delegate?.startImmediately == true && delegate === AF)
    }
}

import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

private struct Value: Codable, Equatable, Sendable {
    var string = "s"
}

private struct TextSerializer: ResponseSerializer {
    func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String { String(decoding: data ?? Data(), as: UTF8.self) }
}

private struct LengthSerializer: DataResponseSerializerProtocol {
    func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Int { data?.count ?? 0 }
}

private struct FileSerializer: DownloadResponseSerializerProtocol {
    func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> Bool { fileURL != nil }
}

private struct Trimming: DataPreprocessor {
    func preprocess(_ data: Data) throws -> Data { data.dropFirst() }
}

private struct CustomEncoding: ParameterEncoding {
    func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws
        -> URLRequest
    { try urlRequest.asURLRequest() }
}

/// Uses values, encoders, serializers and errors with upstream's names.
@Suite struct UpstreamValueTests {
    let url = URL(filePath: "/form")

    @Test func `headers work with upstream names`() throws {
        var headers: HTTPHeaders = [
            .accept("a"), .acceptCharset("b"), .acceptLanguage("c"), .acceptEncoding("d"),
            .authorization(username: "u", password: "p"), .contentDisposition("e"),
            .contentEncoding("f"), .contentType("g"), .userAgent("h"), .websocketProtocol("i"),
        ]
        headers.add(name: "A", value: "1")
        headers.add(.authorization(bearerToken: "t"))
        headers.update(name: "a", value: "2")
        headers.update(.authorization("raw"))
        headers.remove(name: "accept")
        headers["B"] = "3"
        headers.sort()
        #expect(headers.value(for: "A") == "2" && headers["b"] == "3" && headers["Accept"] == nil)
        #expect(headers.sorted() == headers && headers.dictionary["Authorization"] == "raw")
        #expect(HTTPHeaders(["a": "1"]).description == "a: 1")
        #expect(HTTPHeaders([HTTPHeader(name: "a", value: "1")]).first?.value == "1")
        #expect(
            HTTPHeaders.default.map(\.name).sorted() == [
                "Accept-Encoding", "Accept-Language", "User-Agent",
            ])
        #expect(HTTPHeader.defaultUserAgent.value.hasSuffix("Outlet/\(AFInfo.version)"))
        var request = try URLRequest(url: "http://a.test", method: .post, headers: ["a": "b"])
        request.headers["a"] = "c"
        request.method = .query
        request.setValue("d", forHTTPHeaderField: "E")
        #expect(request.httpMethod == "QUERY" && request.value(forHTTPHeaderField: "e") == "d")
        let response = HTTPURLResponse(
            url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["X": "y"])
        #expect(response?.headers["x"] == "y")
        var configuration = URLSessionConfiguration.af.default
        configuration.headers["a"] = "b"
        #expect(URLSessionConfiguration.af.ephemeral.headers == .default)
    }

    @Test func `encodings and encoders work with upstream names`() throws {
        let request = URLRequest(url: url, method: .get)
        let post = URLRequest(url: url, method: .post)
        #expect(
            try URLEncoding(
                destination: .queryString, arrayEncoding: .noBrackets, boolEncoding: .literal
            ).encode(request, with: ["a": [1, 2], "b": true]).url?.query() == "a=1&a=2&b=true")
        #expect(try URLEncoding.httpBody.encode(post, with: ["a": 1]).httpBody == Data("a=1".utf8))
        #expect(URLEncoding.default.escape("a b") == "a%20b")
        #expect(URLEncoding.default.queryComponents(fromKey: "a", value: 1).count == 1)
        #expect(
            try JSONEncoding(options: .sortedKeys).encode(post, with: ["b": 1, "a": 2]).httpBody
                == Data(#"{"a":2,"b":1}"#.utf8))
        #expect(
            try JSONEncoding.prettyPrinted.encode(post, withJSONObject: [1]).httpBody != nil)
        let refusal = #expect(throws: AFError.self) {
            try JSONEncoding.default.encode(post, withJSONObject: 1)
        }
        #expect(refusal?.underlyingError as? JSONEncoding.Error == .invalidJSONObject)
        _ = try CustomEncoding().encode(post, with: nil)
        let encoder = URLEncodedFormEncoder(
            alphabetizeKeyValuePairs: true, arrayEncoding: .indexInBrackets,
            boolEncoding: .literal, dataEncoding: .deferredToData,
            dateEncoding: .millisecondsSince1970, keyEncoding: .convertToKebabCase,
            keyPathEncoding: .dots, nilEncoding: .null, spaceEncoding: .plusReplaced,
            allowedCharacters: .afURLQueryAllowed)
        let text: String = try encoder.encode(Value())
        let data: Data = try encoder.encode(Value())
        #expect(text == "string=s" && data == Data(text.utf8))
        let form = URLEncodedFormParameterEncoder(encoder: encoder, destination: .httpBody)
        #expect(try form.encode(Value(), into: post).headers["Content-Type"] != nil)
        #expect(try JSONParameterEncoder.sortedKeys.encode(Value(), into: post).httpBody != nil)
        _ = JSONParameterEncoder(encoder: JSONEncoder())
        _ = JSONParameterEncoder.prettyPrinted
        let all: [any ParameterEncoder] = [
            .json, .json(encoder: JSONEncoder()), .urlEncodedForm,
            .urlEncodedForm(encoder: encoder, destination: .queryString),
        ]
        #expect(all.count == 4)
        #expect(throws: URLEncodedFormEncoder.Error.self) { try encoder.encode(1) as String }
    }

    @Test func `multipart forms work with upstream names`() throws {
        let form = MultipartFormData(fileManager: .default, boundary: "boundary")
        form.append(Data("a".utf8), withName: "n")
        form.append(Data("a".utf8), withName: "n", fileName: "f", mimeType: "text/plain")
        form.append(TestStream("b"), withLength: 1, name: "n", fileName: "f", mimeType: "a/b")
        form.append(TestStream("b"), withLength: 1, headers: [.contentDisposition("c")])
        #expect(form.contentLength == 4 && form.boundary == "boundary")
        #expect(form.contentType == "multipart/form-data; boundary=boundary")
        #expect(try form.encode().count > 4)
        let missing = MultipartFormData()
        missing.append(URL(filePath: "/nowhere.txt"), withName: "n")
        missing.append(
            URL(filePath: "/nowhere"), withName: "n", fileName: "f", mimeType: "text/plain")
        let error = #expect(throws: AFError.self) {
            try missing.writeEncodedData(to: URL(filePath: "/nowhere/at/all"))
        }
        guard case .multipartEncodingFailed(reason: .bodyPartFileNotReachable(let at))? = error
        else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(at.path == "/nowhere.txt" && error?.isMultipartEncodingError == true)
    }

    @Test func `serializers work with upstream names`() throws {
        let data = Data(#"{"string":"s"}"#.utf8)
        #expect(
            try DataResponseSerializer(
                dataPreprocessor: Trimming(), emptyResponseCodes: [204],
                emptyRequestMethods: [.head]
            ).serialize(request: nil, response: nil, data: data, error: nil).count == data.count - 1
        )
        #expect(
            try StringResponseSerializer(encoding: .utf8).serialize(
                request: nil, response: nil, data: data, error: nil
            ).count == data.count)
        #expect(
            try DecodableResponseSerializer<Value>(decoder: JSONDecoder()).serialize(
                request: nil, response: nil, data: data, error: nil) == Value())
        #expect(
            try JSONResponseSerializer(options: .allowFragments).serialize(
                request: nil, response: nil, data: data, error: nil)["string"] == "s")
        let empty = HTTPURLResponse(
            url: url, statusCode: 204, httpVersion: nil, headerFields: nil)
        #expect(
            try DecodableResponseSerializer<Empty>().serialize(
                request: nil, response: empty, data: nil, error: nil) == Empty.value)
        let serializer = DataResponseSerializer()
        #expect(serializer.requestAllowsEmptyResponseData(nil) == nil)
        #expect(serializer.responseAllowsEmptyResponseData(empty) == true)
        #expect(serializer.emptyResponseAllowed(forRequest: nil, response: empty))
        #expect(TextSerializer().emptyResponseCodes == [204, 205])
        #expect(TextSerializer.defaultEmptyRequestMethods == [.head])
        _ = (LengthSerializer(), FileSerializer(), URLResponseSerializer())
        #expect(try StringStreamSerializer().serialize(data).count == data.count)
        #expect(try PassthroughStreamSerializer().serialize(data) == data)
        #expect(try DecodableStreamSerializer<Value>().serialize(data) == Value())
    }

    @Test func `responses work with upstream names`() {
        let response = AFDataResponse<Int>(
            request: nil, response: nil, data: nil, metrics: nil, serializationDuration: 0,
            result: .success(1))
        #expect(response.map { $0 + 1 }.value == 2)
        #expect(response.tryMap { "\($0)" }.value == "1")
        let thrown: DataResponse<Int, any Error> = response.tryMap { _ in
            throw AFError.explicitlyCancelled
        }
        #expect(
            thrown
                .error != nil)
        #expect(response.mapError { _ in URLError(.cancelled) }.error == nil)
        #expect(response.tryMapError { $0 }.value == 1)
        #expect(response.description == "success(1)")
        let file = AFDownloadResponse<Int>(
            request: nil, response: nil, fileURL: nil, resumeData: nil, metrics: nil,
            serializationDuration: 0, result: .failure(.explicitlyCancelled))
        #expect(file.map { $0 + 1 }.error?.isExplicitlyCancelledError == true)
        #expect(
            file.mapError { $0 as any Error }.error != nil && file.tryMapError { $0 }.value == nil)
        #expect(file.tryMap { $0 }.value == nil && file.fileURL == nil && file.resumeData == nil)
    }

    @Test func `errors work with upstream names`() {
        let underlying = URLError(.timedOut)
        let all: [AFError] = [
            .createUploadableFailed(error: underlying), .createURLRequestFailed(error: underlying),
            .downloadedFileMoveFailed(error: underlying, source: url, destination: url),
            .explicitlyCancelled, .invalidURL(url: "x"),
            .multipartEncodingFailed(reason: .outputStreamURLInvalid(url: url)),
            .parameterEncodingFailed(reason: .missingURL),
            .parameterEncoderFailed(reason: .missingRequiredComponent(.url)),
            .requestAdaptationFailed(error: underlying),
            .requestRetryFailed(retryError: underlying, originalError: underlying),
            .responseValidationFailed(reason: .unacceptableStatusCode(code: 404)),
            .responseSerializationFailed(reason: .inputDataNilOrZeroLength),
            .sessionDeinitialized, .sessionInvalidated(error: nil),
            .sessionTaskFailed(error: underlying),
            .urlRequestValidationFailed(reason: .bodyDataInGETRequest(Data())),
        ]
        let facts = all.map { error in
            [
                error.isCreateUploadableError, error.isCreateURLRequestError,
                error.isDownloadedFileMoveError, error.isExplicitlyCancelledError,
                error.isInvalidURLError, error.isMultipartEncodingError,
                error.isParameterEncodingError, error.isParameterEncoderError,
                error.isRequestAdaptationError, error.isRequestRetryError,
                error.isResponseValidationError, error.isResponseSerializationError,
                error.isSessionDeinitializedError, error.isSessionInvalidatedError,
                error.isSessionTaskError, error.isURLRequestValidationError,
            ].firstIndex(of: true)
        }
        #expect(facts == Array(0..<16).map(Optional.some))
        #expect(all[10].responseCode == 404 && all[4].urlConvertible as? String == "x")
        #expect(all[2].sourceURL == url && all[2].destinationURL == url && all[5].url == url)
        #expect((all[14].underlyingError as? URLError)?.code == .timedOut)
        #expect(all[10].acceptableContentTypes == nil && all[10].responseContentType == nil)
        #expect(all[11].failedStringEncoding == nil && all[14].downloadResumeData == nil)
        #expect(all[3].errorDescription == "Request explicitly cancelled.")
        #expect((all[0] as any Error).asAFError?.isCreateUploadableError == true)
    }
}

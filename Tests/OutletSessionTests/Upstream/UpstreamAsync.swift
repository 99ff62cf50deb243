import FoundationEssentials
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

private struct Value: Codable, Equatable, Sendable {
    var string = "s"
}

/// Calls the `async` API with upstream's names.
@Suite(.timeLimit(.minutes(patience))) struct UpstreamAsyncTests {
    let url = "http://example.test/get"
    let AF = Session(transport: StubTransport { _ in .json(#"{"string":"s"}"#) })
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var place: DownloadRequest.Destination {
        { [url = directory.url] _, _ in (url.appending(path: "file"), .removePreviousFile) }
    }

    @Test func `data tasks work with upstream names`() async throws {
        #expect(try await AF.request(url).serializingData().value.count == 14)
        #expect(try await AF.request(url).serializingString().value.count == 14)
        #expect(try await AF.request(url).serializingDecodable(Value.self).value == Value())
        #expect(await AF.request(url).serializingResponse(using: .data).result.isSuccess)
        #expect(await AF.request(url).serializingResponse(using: .string).response.error == nil)
        let task: DataTask<Value> = AF.request(url).serializingDecodable(
            Value.self, automaticallyCancelling: true, dataPreprocessor: PassthroughPreprocessor(),
            decoder: JSONDecoder(), emptyResponseCodes: [204], emptyRequestMethods: [.head])
        task.suspend()
        task.resume()
        #expect(await task.response.value == Value())
        task.cancel()
        let data = AF.request(url).serializingData(
            automaticallyCancelling: false, dataPreprocessor: .passthrough,
            emptyResponseCodes: [], emptyRequestMethods: [])
        let text = AF.request(url).serializingString(
            automaticallyCancelling: false, dataPreprocessor: .passthrough, encoding: .utf8,
            emptyResponseCodes: [], emptyRequestMethods: [])
        #expect(await data.result.isSuccess)
        #expect(await text.result.isSuccess)
    }

    @Test func `download tasks work with upstream names`() async throws {
        #expect(try await AF.download(url, to: place).serializingData().value.count == 14)
        #expect(try await AF.download(url, to: place).serializingString().value.count == 14)
        let value = AF.download(url, to: place).serializingDecodable(Value.self)
        #expect(try await value.value == Value())
        let file = AF.download(url).serializingDownloadedFileURL(automaticallyCancelling: true)
        #expect(try await file.value.isFileURL)
        await file.response.removeFiles()
        let result = await AF.download(url, to: place).serializingDownload(using: .url).result
        #expect(result.isSuccess)
        let task: DownloadTask<Data> = AF.download(url, to: place)
            .serializingDownload(using: .data)
        #expect(await task.response.fileURL != nil)
    }

    @Test func `stream tasks work with upstream names`() async throws {
        var bytes = 0
        for await data in AF.streamRequest(url).streamTask().streamingData().compactMap(\.value) {
            bytes += data.count
        }
        #expect(bytes == 14)
        let task: DataStreamTask = AF.streamRequest(url).streamTask()
        for await stream in task.streamingStrings(
            automaticallyCancelling: true, bufferingPolicy: .unbounded)
        {
            switch stream.event {
            case .stream(.success(let text)): #expect(text.count == 14)
            case .complete(let completion): #expect(completion.response?.statusCode == 200)
            }
        }
        for await value in AF.streamRequest(url).streamTask().streamingDecodables(Value.self)
            .compactMap(\.value)
        {
            #expect(value == Value())
        }
        for await stream in AF.streamRequest(url).streamTask()
            .streamingResponses(serializedUsing: .decodable(of: Value.self))
        {
            if let value = stream.value { #expect(value == Value()) }
        }
        task.cancel()
        task.suspend()
        task.resume()
    }

    @Test func `async sequences of request events work with upstream names`() async {
        let request = AF.request(url)
        // An iterator receives values from its creation on.
        var heads = request.httpResponses().makeAsyncIterator()
        var requests = request.urlRequests().makeAsyncIterator()
        var tasks = request.urlSessionTasks().makeAsyncIterator()
        var commands = request.cURLDescriptions(bufferingPolicy: .unbounded).makeAsyncIterator()
        var downloads = request.downloadProgress().makeAsyncIterator()
        var uploads = request.uploadProgress().makeAsyncIterator()
        _ = await request.serializingData().response
        #expect(await rest(of: &heads).map(\.statusCode) == [200])
        #expect(await rest(of: &requests).map(\.url?.absoluteString) == [url])
        #expect(await rest(of: &tasks).count == 1)
        #expect(await rest(of: &commands).count == 1)
        #expect(await rest(of: &downloads).last?.isFinished == true)
        #expect(await rest(of: &uploads).isEmpty)
    }

    private func rest<Element>(of iterator: inout StreamOf<Element>.Iterator) async -> [Element] {
        var elements: [Element] = []
        while let element = await iterator.next() { elements.append(element) }
        return elements
    }

    @Test func `async onHTTPResponse closures work with upstream names`() async {
        let kept = await AF.request(url).onHTTPResponse { response in
            await Task.yield()
            _ = response.statusCode
        }.serializingData().result
        #expect(kept.isSuccess)
        let request = AF.request(url).onHTTPResponse { _ in
            await Task.yield()
            return .cancel
        }
        let refused = await request.serializingData().response
        #expect(refused.error?.isExplicitlyCancelledError == true && refused.data == nil)
        let stream = AF.streamRequest(url).onHTTPResponse { _ in
            await Task.yield()
            return .allow
        }
        let task = stream.streamTask()
        #expect(
            await task.streamingData().compactMap(\.value).reduce(0) { count, _ in count + 1 } == 1)
    }
}

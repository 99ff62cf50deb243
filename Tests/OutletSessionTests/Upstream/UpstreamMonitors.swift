import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletReachability
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// A monitor with upstream's names, whose methods record their names.
private final class UpstreamMonitor: EventMonitor {
    let queue = DispatchQueue(label: "peer.monitor")
    let names = Recorder<String>()

    private func note(_ name: String = #function) {
        names.record(name)
        dispatchPrecondition(condition: .onQueue(queue))
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { note() }
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) { note() }
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) { note() }
    func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) { note() }
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest
    ) { note() }
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) { note() }
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) { note() }
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        note()
    }
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) { note() }
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note()
    }
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
    ) { note() }
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) { note() }
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) { note() }

    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) { note() }
    func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) { note() }
    func request(
        _ request: Request, didAdaptInitialRequest initialRequest: URLRequest,
        to adaptedRequest: URLRequest
    ) { note() }
    func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest,
        withError error: AFError
    ) { note() }
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { note() }
    func request(_ request: Request, didCreateTask task: URLSessionTask) { note() }
    func request(_ request: Request, didGatherMetrics metrics: URLSessionTaskMetrics) { note() }
    func request(
        _ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError
    ) { note() }
    func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        note()
    }
    func requestIsRetrying(_ request: Request) { note() }
    func requestDidFinish(_ request: Request) { note() }
    func requestDidResume(_ request: Request) { note() }
    func request(_ request: Request, didResumeTask task: URLSessionTask) { note() }
    func requestDidSuspend(_ request: Request) { note() }
    func request(_ request: Request, didSuspendTask task: URLSessionTask) { note() }
    func requestDidCancel(_ request: Request) { note() }
    func request(_ request: Request, didCancelTask task: URLSessionTask) { note() }

    func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse, data: Data?, withResult result: Request.ValidationResult
    ) { note() }
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        note("parsed data")
    }
    func request<Value>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>
    ) { note("parsed value") }
    func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse, withResult result: Request.ValidationResult
    ) { note() }
    func request<Value>(
        _ request: DataStreamRequest, didParseStream result: Result<Value, AFError>
    ) { note() }
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
    { note() }
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {
        note()
    }
    func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) { note() }
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask,
        with result: Result<URL, AFError>
    ) { note() }
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) { note() }
    func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?,
        response: HTTPURLResponse, fileURL: URL?, withResult result: Request.ValidationResult
    ) { note() }
    func request(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>
    ) { note("parsed file") }
    func request<Value>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) { note("parsed download") }
}

@Suite struct UpstreamMonitorTests {
    let url = "http://example.test/get"
    private let monitor = UpstreamMonitor()

    private func names(
        until last: String = "requestDidFinish(_:)", times: Int = 1
    ) async throws -> [String] {
        var seen = monitor.names.values
        while seen.count(where: { $0 == last }) < times {
            seen = try await monitor.names.values(seen.count + 1)
        }
        return seen
    }

    @Test func `a data request calls a monitor's methods with upstream names`() async throws {
        let session = Session(
            transport: StubTransport { _ in .text("x") }, eventMonitors: [monitor])
        session.request(url, shouldAutomaticallyResume: false).validate(statusCode: [200])
            .response { _ in }.responseString { _ in }.resume()
        #expect(
            try await names(until: "parsed value") == [
                "requestDidResume(_:)", "request(_:didCreateInitialURLRequest:)",
                "request(_:didCreateURLRequest:)", "request(_:didCreateTask:)",
                "request(_:didResumeTask:)", "urlSession(_:dataTask:didReceive:)",
                "urlSession(_:dataTask:didReceive:)", "urlSession(_:task:didFinishCollecting:)",
                "request(_:didGatherMetrics:)", "urlSession(_:task:didCompleteWithError:)",
                "request(_:didValidateRequest:response:data:withResult:)",
                "request(_:didCompleteTask:with:)", "requestDidFinish(_:)", "parsed data",
                "parsed value",
            ])
    }

    @Test func `a resumed download reports its offset and its file`() async throws {
        let content = Content("one, two, three", breaks: [8])
        let session = Session(transport: content.transport, eventMonitors: [monitor])
        let lost = await session.download(url).serializingData().response
        let data = try #require(lost.resumeData)
        let response = await session.download(resumingWith: data).validate().serializingString()
            .response
        response.removeFiles()
        #expect(response.value == "one, two, three")
        // One event of the interrupted download, and one of the resumed download.
        let seen = try await names(until: "parsed download", times: 2)
        let told = seen.filter { $0.contains("downloadTask") && !$0.contains("didWriteData") }
        #expect(
            told == [
                "urlSession(_:downloadTask:didResumeAtOffset:expectedTotalBytes:)",
                "urlSession(_:downloadTask:didFinishDownloadingTo:)",
            ])
        #expect(seen.contains("request(_:didCreateDestinationURL:)"))
        #expect(seen.contains("request(_:didFinishDownloadingUsing:with:)"))
        #expect(seen.contains("parsed download"))
    }

    @Test func `a request that waits for the network reports it`() async throws {
        let retrier = OfflineRetrier(
            monitor: PathMonitor(start: { _, update in update(.pathAvailable) }, stop: {}))
        let session = Session(
            transport: StubTransport(answers: [
                .failure(URLError(.notConnectedToInternet)), .text("x"),
            ]), interceptor: retrier, eventMonitors: [monitor])
        let request = session.request(url)
        #expect(await request.serializingString().response.value == "x")
        #expect(
            try await names().contains("urlSession(_:taskIsWaitingForConnectivity:)"))
    }

    @Test func `the closures of a monitor have upstream names`() {
        let monitor = ClosureEventMonitor()
        monitor.sessionDidBecomeInvalidWithError = { session, error in }
        monitor.taskDidReceiveChallenge = { session, task, challenge in }
        monitor.taskDidSendBodyData = { session, task, sent, total, expected in }
        monitor.taskNeedNewBodyStream = { session, task in }
        monitor.taskWillPerformHTTPRedirection = { session, task, response, request in }
        monitor.taskDidFinishCollectingMetrics = { session, task, metrics in }
        monitor.taskDidComplete = { session, task, error in }
        monitor.taskIsWaitingForConnectivity = { session, task in }
        monitor.dataTaskDidReceiveResponse = { session, task, response in }
        monitor.dataTaskDidReceiveData = { session, task, data in }
        monitor.downloadTaskDidFinishDownloadingToURL = { session, task, url in }
        monitor.downloadTaskDidWriteData = { session, task, written, total, expected in }
        monitor.downloadTaskDidResumeAtOffset = { session, task, offset, expected in }
        monitor.requestDidCreateInitialURLRequest = { request, urlRequest in }
        monitor.requestDidFailToCreateURLRequestWithError = { request, error in }
        monitor.requestDidAdaptInitialRequestToAdaptedRequest = { request, initial, adapted in }
        monitor.requestDidFailToAdaptURLRequestWithError = { request, initial, error in }
        monitor.requestDidCreateURLRequest = { request, urlRequest in }
        monitor.requestDidCreateTask = { request, task in }
        monitor.requestDidGatherMetrics = { request, metrics in }
        monitor.requestDidFailTaskEarlyWithError = { request, task, error in }
        monitor.requestDidCompleteTaskWithError = { request, task, error in }
        monitor.requestIsRetrying = { request in }
        monitor.requestDidFinish = { request in }
        monitor.requestDidResume = { request in }
        monitor.requestDidResumeTask = { request, task in }
        monitor.requestDidSuspend = { request in }
        monitor.requestDidSuspendTask = { request, task in }
        monitor.requestDidCancel = { request in }
        monitor.requestDidCancelTask = { request, task in }
        monitor.requestDidValidateRequestResponseDataWithResult = { _, _, _, data, result in }
        monitor.requestDidParseResponse = { request, response in }
        monitor.requestDidValidateRequestResponseWithResult = { _, _, response, result in }
        monitor.requestDidCreateUploadable = { request, uploadable in }
        monitor.requestDidFailToCreateUploadableWithError = { request, error in }
        monitor.requestDidProvideInputStream = { request, stream in }
        monitor.requestDidFinishDownloadingUsingTaskWithResult = { request, task, result in }
        monitor.requestDidCreateDestinationURL = { request, url in }
        monitor.requestDidValidateRequestResponseFileURLWithResult = { _, _, _, url, result in }
        monitor.requestDidParseDownloadResponse = { request, response in }
        let composite = CompositeEventMonitor(
            monitors: [monitor, ClosureEventMonitor(queue: .main)], defaultQueue: .main)
        let session = Session(
            transport: StubTransport { _ in .text("x") }, eventMonitors: [composite])
        #expect(session.eventMonitor != nil)
    }
}

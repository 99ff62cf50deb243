public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Watches transfers of a session: what its transport has told, request by request or not.
///
/// Every method has an empty default. Monitors of single requests are not told these.
///
/// Thread: as ``EventMonitor``.
public protocol TransferEventMonitor: Sendable {
    /// The session lets no more requests start.
    func urlSession(_ session: any Transport, didBecomeInvalidWithError error: (any Error)?)
    /// A server or a proxy asks for credentials.
    func urlSession(
        _ session: any Transport, task: any TransferTask,
        didReceive challenge: AuthenticationChallenge)
    /// Bytes of a request's body were sent.
    func urlSession(
        _ session: any Transport, task: any TransferTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64)
    /// A body stream is taken back to its start, to be sent again.
    func urlSession(_ session: any Transport, taskNeedsNewBodyStream task: any TransferTask)
    /// A redirect is about to be followed.
    func urlSession(
        _ session: any Transport, task: any TransferTask,
        willPerformHTTPRedirection response: HTTPResponse, newRequest request: HTTPRequest)
    /// A transfer was measured.
    func urlSession(
        _ session: any Transport, task: any TransferTask,
        didFinishCollecting metrics: TransferMetrics)
    /// A transfer ended, before any validator.
    func urlSession(
        _ session: any Transport, task: any TransferTask, didCompleteWithError error: (any Error)?)
    /// A transfer failed for want of a network, and is tried again when there is one.
    func urlSession(
        _ session: any Transport, taskIsWaitingForConnectivity task: any TransferTask)
    /// The head of a response has come.
    func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive response: HTTPResponse)
    /// Bytes of a response's body have come: all at once where they are collected, else chunk by chunk.
    func urlSession(_ session: any Transport, dataTask: any TransferTask, didReceive data: Data)
    /// A response is about to be stored in the session's cache, if nobody objects.
    func urlSession(
        _ session: any Transport, dataTask: any TransferTask,
        willCacheResponse proposedResponse: CachedResponse)
    /// A download goes on behind what is there already; `expectedTotalBytes` is -1 if not known.
    func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64)
    /// Bytes of a download were written.
    func urlSession(
        _ session: any Transport, downloadTask: any TransferTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)
    /// A download is complete, and still lies in its temporary place.
    func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didFinishDownloadingTo location: URL)
}

extension TransferEventMonitor {
    /// Does nothing.
    public func urlSession(_ session: any Transport, didBecomeInvalidWithError error: (any Error)?)
    {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        didReceive challenge: AuthenticationChallenge
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, task: any TransferTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {}
    /// Does nothing.
    public func urlSession(_ session: any Transport, taskNeedsNewBodyStream task: any TransferTask)
    {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        willPerformHTTPRedirection response: HTTPResponse, newRequest request: HTTPRequest
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        didFinishCollecting metrics: TransferMetrics
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, task: any TransferTask, didCompleteWithError error: (any Error)?
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive response: HTTPResponse
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive data: Data
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask,
        willCacheResponse proposedResponse: CachedResponse
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, taskIsWaitingForConnectivity task: any TransferTask
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didFinishDownloadingTo location: URL
    ) {}
}

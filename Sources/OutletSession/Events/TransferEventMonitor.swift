public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Receives the events of a session's transfers.
///
/// All methods have empty defaults. Only the session's monitors get these events, not the monitors
/// of single requests. `session` is the session's transport.
///
/// Thread: as for ``EventMonitor``.
public protocol TransferEventMonitor: Sendable {
    /// The session has ended and starts no more requests.
    func urlSession(_ session: any Transport, didBecomeInvalidWithError error: (any Error)?)
    /// A server or a proxy has sent an authentication challenge.
    func urlSession(
        _ session: any Transport, task: any TransferTask,
        didReceive challenge: AuthenticationChallenge)
    /// Bytes of a request's body were sent.
    func urlSession(
        _ session: any Transport, task: any TransferTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64)
    /// A body stream is about to be rewound and sent again.
    func urlSession(_ session: any Transport, taskNeedsNewBodyStream task: any TransferTask)
    /// A redirect is about to be followed.
    func urlSession(
        _ session: any Transport, task: any TransferTask,
        willPerformHTTPRedirection response: HTTPResponse, newRequest request: HTTPRequest)
    /// The metrics of a transfer are complete.
    func urlSession(
        _ session: any Transport, task: any TransferTask,
        didFinishCollecting metrics: TransferMetrics)
    /// The last transfer of an attempt has ended; validators have not run yet.
    func urlSession(
        _ session: any Transport, task: any TransferTask, didCompleteWithError error: (any Error)?)
    /// A transfer failed because there is no network; it is retried when there is one.
    func urlSession(
        _ session: any Transport, taskIsWaitingForConnectivity task: any TransferTask)
    /// The head of a response has arrived.
    func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive response: HTTPResponse)
    /// Bytes of a response's body have arrived: the whole body if it is collected, else a piece.
    func urlSession(_ session: any Transport, dataTask: any TransferTask, didReceive data: Data)
    /// A response qualifies for the session's cache; a handler may have kept it out.
    func urlSession(
        _ session: any Transport, dataTask: any TransferTask,
        willCacheResponse proposedResponse: CachedResponse)
    /// A download resumes at an offset in bytes; `expectedTotalBytes` is -1 if not known.
    func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64)
    /// Bytes of a download were written; the expected total is -1 if not known.
    func urlSession(
        _ session: any Transport, downloadTask: any TransferTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)
    /// A download is complete, and its file was not moved yet.
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

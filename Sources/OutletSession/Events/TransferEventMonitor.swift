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
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - error: The reason; `nil` for none.
    func urlSession(_ session: any Transport, didBecomeInvalidWithError error: (any Error)?)
    /// A server or a proxy has sent an authentication challenge.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - challenge: The challenge.
    func urlSession(
        _ session: any Transport, task: any TransferTask,
        didReceive challenge: AuthenticationChallenge)
    /// Bytes of a request's body were sent.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - bytesSent: The number of bytes since the last call.
    ///   - totalBytesSent: The number of bytes sent so far.
    ///   - totalBytesExpectedToSend: The length of the body in bytes; -1 if unknown.
    func urlSession(
        _ session: any Transport, task: any TransferTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64)
    /// A body stream is about to be rewound and sent again.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    func urlSession(_ session: any Transport, taskNeedsNewBodyStream task: any TransferTask)
    /// A redirect is about to be followed.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - response: The response that redirects.
    ///   - request: The request of the next hop.
    func urlSession(
        _ session: any Transport, task: any TransferTask,
        willPerformHTTPRedirection response: HTTPResponse, newRequest request: HTTPRequest)
    /// The metrics of a transfer are complete.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - metrics: The metrics of the transfer.
    func urlSession(
        _ session: any Transport, task: any TransferTask,
        didFinishCollecting metrics: TransferMetrics)
    /// The last transfer of an attempt has ended; validators have not run yet.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - error: Its error; `nil` if it succeeded.
    func urlSession(
        _ session: any Transport, task: any TransferTask, didCompleteWithError error: (any Error)?)
    /// A transfer failed because there is no network; it is retried when there is one.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    func urlSession(
        _ session: any Transport, taskIsWaitingForConnectivity task: any TransferTask)
    /// The head of a response has arrived.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - response: The head of the response.
    func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive response: HTTPResponse)
    /// Bytes of a response's body have arrived: the whole body if it is collected, else a piece.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - data: The received bytes.
    func urlSession(_ session: any Transport, dataTask: any TransferTask, didReceive data: Data)
    /// A response qualifies for the session's cache; a handler may have kept it out.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - proposedResponse: The response to store.
    func urlSession(
        _ session: any Transport, dataTask: any TransferTask,
        willCacheResponse proposedResponse: CachedResponse)
    /// A download resumes at an offset in bytes; `expectedTotalBytes` is -1 if not known.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - downloadTask: The transfer.
    ///   - fileOffset: The number of bytes that the file had already.
    ///   - expectedTotalBytes: The length of the body in bytes; -1 if unknown.
    func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64)
    /// Bytes of a download were written; the expected total is -1 if not known.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - downloadTask: The transfer.
    ///   - bytesWritten: The number of bytes since the last call.
    ///   - totalBytesWritten: The number of bytes received so far.
    ///   - totalBytesExpectedToWrite: The length of the body in bytes; -1 if unknown.
    func urlSession(
        _ session: any Transport, downloadTask: any TransferTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)
    /// A download is complete, and its file was not moved yet.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - downloadTask: The transfer.
    ///   - location: The downloaded file.
    func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didFinishDownloadingTo location: URL)
}

extension TransferEventMonitor {
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - error: The reason; `nil` for none.
    public func urlSession(_ session: any Transport, didBecomeInvalidWithError error: (any Error)?)
    {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - challenge: The challenge.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        didReceive challenge: AuthenticationChallenge
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - bytesSent: The number of bytes since the last call.
    ///   - totalBytesSent: The number of bytes sent so far.
    ///   - totalBytesExpectedToSend: The length of the body in bytes; -1 if unknown.
    public func urlSession(
        _ session: any Transport, task: any TransferTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    public func urlSession(_ session: any Transport, taskNeedsNewBodyStream task: any TransferTask)
    {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - response: The response that redirects.
    ///   - request: The request of the next hop.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        willPerformHTTPRedirection response: HTTPResponse, newRequest request: HTTPRequest
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - metrics: The metrics of the transfer.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        didFinishCollecting metrics: TransferMetrics
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - error: Its error; `nil` if it succeeded.
    public func urlSession(
        _ session: any Transport, task: any TransferTask, didCompleteWithError error: (any Error)?
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - response: The head of the response.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive response: HTTPResponse
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - data: The received bytes.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive data: Data
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - proposedResponse: The response to store.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask,
        willCacheResponse proposedResponse: CachedResponse
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - downloadTask: The transfer.
    ///   - bytesWritten: The number of bytes since the last call.
    ///   - totalBytesWritten: The number of bytes received so far.
    ///   - totalBytesExpectedToWrite: The length of the body in bytes; -1 if unknown.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    public func urlSession(
        _ session: any Transport, taskIsWaitingForConnectivity task: any TransferTask
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - downloadTask: The transfer.
    ///   - fileOffset: The number of bytes that the file had already.
    ///   - expectedTotalBytes: The length of the body in bytes; -1 if unknown.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
    ) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - downloadTask: The transfer.
    ///   - location: The downloaded file.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didFinishDownloadingTo location: URL
    ) {}
}

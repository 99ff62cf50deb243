public import FoundationEssentials
public import OutletHTTP
public import OutletTransport
public import OutletSession

/// The events of ``ClosureEventMonitor`` that belong to transfers, not to requests.
///
/// A monitor receives them only if it monitors the whole session, not a single request. The first
/// argument of each closure is the session's transport.
open class ClosureTransferEventMonitor: TransferEventMonitor, @unchecked Sendable {
    // because the closures are set before the monitor is passed on, and only read from then on.

    /// The session was invalidated and starts no more requests; the error is its reason, or `nil`.
    open var sessionDidBecomeInvalidWithError: (@Sendable (any Transport, (any Error)?) -> Void)?
    /// A server or a proxy requires authentication.
    open var taskDidReceiveChallenge:
        (@Sendable (any Transport, any TransferTask, AuthenticationChallenge) -> Void)?
    /// Bytes of a request's body were sent.
    ///
    /// The numbers are the bytes since the last call, the total so far, and the expected total (-1
    /// if not known).
    open var taskDidSendBodyData:
        (@Sendable (any Transport, any TransferTask, Int64, Int64, Int64) -> Void)?
    /// A body stream is about to be rewound and sent again.
    open var taskNeedNewBodyStream: (@Sendable (any Transport, any TransferTask) -> Void)?
    /// A redirect is about to be followed: the redirect response, and the new request.
    open var taskWillPerformHTTPRedirection:
        (@Sendable (any Transport, any TransferTask, HTTPResponse, HTTPRequest) -> Void)?
    /// The metrics of a transfer are known.
    open var taskDidFinishCollectingMetrics:
        (@Sendable (any Transport, any TransferTask, TransferMetrics) -> Void)?
    /// A transfer ended and is not validated yet; the error is `nil` if it succeeded.
    open var taskDidComplete: (@Sendable (any Transport, any TransferTask, (any Error)?) -> Void)?
    /// A transfer failed because there is no network; it is retried when there is one.
    open var taskIsWaitingForConnectivity: (@Sendable (any Transport, any TransferTask) -> Void)?
    /// The head of a response arrived.
    open var dataTaskDidReceiveResponse:
        (@Sendable (any Transport, any TransferTask, HTTPResponse) -> Void)?
    /// Bytes of a response's body arrived: the whole body if it is collected in memory, otherwise a
    /// chunk.
    open var dataTaskDidReceiveData: (@Sendable (any Transport, any TransferTask, Data) -> Void)?
    /// A response is about to be stored in the session's cache; a `CachedResponseHandler` may still
    /// prevent it.
    open var dataTaskWillCacheResponse:
        (@Sendable (any Transport, any TransferTask, CachedResponse) -> Void)?
    /// Bytes of a download were written.
    ///
    /// The numbers are the bytes since the last call, the total so far, and the expected total (-1
    /// if not known).
    open var downloadTaskDidWriteData:
        (@Sendable (any Transport, any TransferTask, Int64, Int64, Int64) -> Void)?

    /// A download resumes: the offset in bytes, and the expected total in bytes (-1 if not known).
    open var downloadTaskDidResumeAtOffset:
        (@Sendable (any Transport, any TransferTask, Int64, Int64) -> Void)?
    /// A download is complete: its temporary file, before it is moved to its destination.
    open var downloadTaskDidFinishDownloadingToURL:
        (@Sendable (any Transport, any TransferTask, URL) -> Void)?

    init() {}

    /// Calls ``sessionDidBecomeInvalidWithError``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - error: The reason; `nil` for none.
    open func urlSession(_ session: any Transport, didBecomeInvalidWithError error: (any Error)?) {
        sessionDidBecomeInvalidWithError?(session, error)
    }

    /// Calls ``taskDidReceiveChallenge``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - challenge: The challenge.
    open func urlSession(
        _ session: any Transport, task: any TransferTask,
        didReceive challenge: AuthenticationChallenge
    ) {
        taskDidReceiveChallenge?(session, task, challenge)
    }

    /// Calls ``taskDidSendBodyData``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - bytesSent: The number of bytes since the last call.
    ///   - totalBytesSent: The number of bytes sent so far.
    ///   - totalBytesExpectedToSend: The length of the body in bytes; -1 if unknown.
    open func urlSession(
        _ session: any Transport, task: any TransferTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {
        taskDidSendBodyData?(session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend)
    }

    /// Calls ``taskNeedNewBodyStream``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    open func urlSession(_ session: any Transport, taskNeedsNewBodyStream task: any TransferTask) {
        taskNeedNewBodyStream?(session, task)
    }

    /// Calls ``taskWillPerformHTTPRedirection``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - response: The response that redirects.
    ///   - request: The request of the next hop.
    open func urlSession(
        _ session: any Transport, task: any TransferTask,
        willPerformHTTPRedirection response: HTTPResponse, newRequest request: HTTPRequest
    ) {
        taskWillPerformHTTPRedirection?(session, task, response, request)
    }

    /// Calls ``taskDidFinishCollectingMetrics``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - metrics: The metrics of the transfer.
    open func urlSession(
        _ session: any Transport, task: any TransferTask,
        didFinishCollecting metrics: TransferMetrics
    ) {
        taskDidFinishCollectingMetrics?(session, task, metrics)
    }

    /// Calls ``taskDidComplete``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    ///   - error: Its error; `nil` if it succeeded.
    open func urlSession(
        _ session: any Transport, task: any TransferTask, didCompleteWithError error: (any Error)?
    ) {
        taskDidComplete?(session, task, error)
    }

    /// Calls ``dataTaskDidReceiveResponse``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - response: The head of the response.
    open func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive response: HTTPResponse
    ) {
        dataTaskDidReceiveResponse?(session, dataTask, response)
    }

    /// Calls ``dataTaskDidReceiveData``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - data: The received bytes.
    open func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive data: Data
    ) {
        dataTaskDidReceiveData?(session, dataTask, data)
    }

    /// Calls ``dataTaskWillCacheResponse``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - proposedResponse: The response to store.
    open func urlSession(
        _ session: any Transport, dataTask: any TransferTask,
        willCacheResponse proposedResponse: CachedResponse
    ) {
        dataTaskWillCacheResponse?(session, dataTask, proposedResponse)
    }

    /// Calls ``downloadTaskDidWriteData``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - downloadTask: The transfer.
    ///   - bytesWritten: The number of bytes since the last call.
    ///   - totalBytesWritten: The number of bytes received so far.
    ///   - totalBytesExpectedToWrite: The length of the body in bytes; -1 if unknown.
    open func urlSession(
        _ session: any Transport, downloadTask: any TransferTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        downloadTaskDidWriteData?(
            session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite)
    }

    /// Calls ``taskIsWaitingForConnectivity``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - task: The transfer.
    open func urlSession(
        _ session: any Transport, taskIsWaitingForConnectivity task: any TransferTask
    ) {
        taskIsWaitingForConnectivity?(session, task)
    }

    /// Calls ``downloadTaskDidResumeAtOffset``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - downloadTask: The transfer.
    ///   - fileOffset: The number of bytes that the file had already.
    ///   - expectedTotalBytes: The length of the body in bytes; -1 if unknown.
    open func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
    ) {
        downloadTaskDidResumeAtOffset?(session, downloadTask, fileOffset, expectedTotalBytes)
    }

    /// Calls ``downloadTaskDidFinishDownloadingToURL``.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - downloadTask: The transfer.
    ///   - location: The downloaded file.
    open func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didFinishDownloadingTo location: URL
    ) {
        downloadTaskDidFinishDownloadingToURL?(session, downloadTask, location)
    }
}

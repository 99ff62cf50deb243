public import FoundationEssentials
public import OutletHTTP
public import OutletTransport
public import OutletSession

/// Watches transfers with closures; the part of ``ClosureEventMonitor`` that knows no requests.
open class ClosureTransferEventMonitor: TransferEventMonitor, @unchecked Sendable {
    // because the closures are set before the monitor is handed over, and only read from then on.

    /// The session lets no more requests start.
    open var sessionDidBecomeInvalidWithError: (@Sendable (any Transport, (any Error)?) -> Void)?
    /// A server or a proxy asks for credentials.
    open var taskDidReceiveChallenge:
        (@Sendable (any Transport, any TransferTask, AuthenticationChallenge) -> Void)?
    /// Bytes of a request's body were sent.
    open var taskDidSendBodyData:
        (@Sendable (any Transport, any TransferTask, Int64, Int64, Int64) -> Void)?
    /// A body stream is taken back to its start, to be sent again.
    open var taskNeedNewBodyStream: (@Sendable (any Transport, any TransferTask) -> Void)?
    /// A redirect is about to be followed.
    open var taskWillPerformHTTPRedirection:
        (@Sendable (any Transport, any TransferTask, HTTPResponse, HTTPRequest) -> Void)?
    /// A transfer was measured.
    open var taskDidFinishCollectingMetrics:
        (@Sendable (any Transport, any TransferTask, TransferMetrics) -> Void)?
    /// A transfer ended, before any validator.
    open var taskDidComplete: (@Sendable (any Transport, any TransferTask, (any Error)?) -> Void)?
    /// A transfer failed for want of a network, and is tried again when there is one.
    open var taskIsWaitingForConnectivity: (@Sendable (any Transport, any TransferTask) -> Void)?
    /// The head of a response has come.
    open var dataTaskDidReceiveResponse:
        (@Sendable (any Transport, any TransferTask, HTTPResponse) -> Void)?
    /// Bytes of a response's body have come: all at once where they are collected, else chunk by chunk.
    open var dataTaskDidReceiveData: (@Sendable (any Transport, any TransferTask, Data) -> Void)?
    /// A response is about to be stored in the session's cache, if nobody objects.
    open var dataTaskWillCacheResponse:
        (@Sendable (any Transport, any TransferTask, CachedResponse) -> Void)?
    /// Bytes of a download were written.
    open var downloadTaskDidWriteData:
        (@Sendable (any Transport, any TransferTask, Int64, Int64, Int64) -> Void)?

    /// A download goes on behind what is there already: offset, then total (-1 if not known).
    open var downloadTaskDidResumeAtOffset:
        (@Sendable (any Transport, any TransferTask, Int64, Int64) -> Void)?
    /// A download is complete, and still lies in its temporary place.
    open var downloadTaskDidFinishDownloadingToURL:
        (@Sendable (any Transport, any TransferTask, URL) -> Void)?

    init() {}

    /// Calls ``sessionDidBecomeInvalidWithError``.
    open func urlSession(_ session: any Transport, didBecomeInvalidWithError error: (any Error)?) {
        sessionDidBecomeInvalidWithError?(session, error)
    }

    /// Calls ``taskDidReceiveChallenge``.
    open func urlSession(
        _ session: any Transport, task: any TransferTask,
        didReceive challenge: AuthenticationChallenge
    ) {
        taskDidReceiveChallenge?(session, task, challenge)
    }

    /// Calls ``taskDidSendBodyData``.
    open func urlSession(
        _ session: any Transport, task: any TransferTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {
        taskDidSendBodyData?(session, task, bytesSent, totalBytesSent, totalBytesExpectedToSend)
    }

    /// Calls ``taskNeedNewBodyStream``.
    open func urlSession(_ session: any Transport, taskNeedsNewBodyStream task: any TransferTask) {
        taskNeedNewBodyStream?(session, task)
    }

    /// Calls ``taskWillPerformHTTPRedirection``.
    open func urlSession(
        _ session: any Transport, task: any TransferTask,
        willPerformHTTPRedirection response: HTTPResponse, newRequest request: HTTPRequest
    ) {
        taskWillPerformHTTPRedirection?(session, task, response, request)
    }

    /// Calls ``taskDidFinishCollectingMetrics``.
    open func urlSession(
        _ session: any Transport, task: any TransferTask,
        didFinishCollecting metrics: TransferMetrics
    ) {
        taskDidFinishCollectingMetrics?(session, task, metrics)
    }

    /// Calls ``taskDidComplete``.
    open func urlSession(
        _ session: any Transport, task: any TransferTask, didCompleteWithError error: (any Error)?
    ) {
        taskDidComplete?(session, task, error)
    }

    /// Calls ``dataTaskDidReceiveResponse``.
    open func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive response: HTTPResponse
    ) {
        dataTaskDidReceiveResponse?(session, dataTask, response)
    }

    /// Calls ``dataTaskDidReceiveData``.
    open func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive data: Data
    ) {
        dataTaskDidReceiveData?(session, dataTask, data)
    }

    /// Calls ``dataTaskWillCacheResponse``.
    open func urlSession(
        _ session: any Transport, dataTask: any TransferTask,
        willCacheResponse proposedResponse: CachedResponse
    ) {
        dataTaskWillCacheResponse?(session, dataTask, proposedResponse)
    }

    /// Calls ``downloadTaskDidWriteData``.
    open func urlSession(
        _ session: any Transport, downloadTask: any TransferTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        downloadTaskDidWriteData?(
            session, downloadTask, bytesWritten, totalBytesWritten, totalBytesExpectedToWrite)
    }

    /// Calls ``taskIsWaitingForConnectivity``.
    open func urlSession(
        _ session: any Transport, taskIsWaitingForConnectivity task: any TransferTask
    ) {
        taskIsWaitingForConnectivity?(session, task)
    }

    /// Calls ``downloadTaskDidResumeAtOffset``.
    open func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
    ) {
        downloadTaskDidResumeAtOffset?(session, downloadTask, fileOffset, expectedTotalBytes)
    }

    /// Calls ``downloadTaskDidFinishDownloadingToURL``.
    open func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didFinishDownloadingTo location: URL
    ) {
        downloadTaskDidFinishDownloadingToURL?(session, downloadTask, location)
    }
}

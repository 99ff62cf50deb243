public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

extension CompositeEventMonitor {
    /// Passes the event on.
    public func urlSession(_ session: any Transport, didBecomeInvalidWithError error: (any Error)?)
    {
        perform { $0.urlSession(session, didBecomeInvalidWithError: error) }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        didReceive challenge: AuthenticationChallenge
    ) {
        perform { $0.urlSession(session, task: task, didReceive: challenge) }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, task: any TransferTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {
        perform {
            $0.urlSession(
                session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend)
        }
    }

    /// Passes the event on.
    public func urlSession(_ session: any Transport, taskNeedsNewBodyStream task: any TransferTask)
    {
        perform { $0.urlSession(session, taskNeedsNewBodyStream: task) }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        willPerformHTTPRedirection response: HTTPResponse, newRequest request: HTTPRequest
    ) {
        perform {
            $0.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: request)
        }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, task: any TransferTask,
        didFinishCollecting metrics: TransferMetrics
    ) {
        perform { $0.urlSession(session, task: task, didFinishCollecting: metrics) }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, task: any TransferTask, didCompleteWithError error: (any Error)?
    ) {
        perform { $0.urlSession(session, task: task, didCompleteWithError: error) }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive response: HTTPResponse
    ) {
        perform { $0.urlSession(session, dataTask: dataTask, didReceive: response) }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive data: Data
    ) {
        perform { $0.urlSession(session, dataTask: dataTask, didReceive: data) }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask,
        willCacheResponse proposedResponse: CachedResponse
    ) {
        perform {
            $0.urlSession(session, dataTask: dataTask, willCacheResponse: proposedResponse)
        }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        perform {
            $0.urlSession(
                session, downloadTask: downloadTask, didWriteData: bytesWritten,
                totalBytesWritten: totalBytesWritten,
                totalBytesExpectedToWrite: totalBytesExpectedToWrite)
        }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, taskIsWaitingForConnectivity task: any TransferTask
    ) {
        perform { $0.urlSession(session, taskIsWaitingForConnectivity: task) }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
    ) {
        perform {
            $0.urlSession(
                session, downloadTask: downloadTask, didResumeAtOffset: fileOffset,
                expectedTotalBytes: expectedTotalBytes)
        }
    }

    /// Passes the event on.
    public func urlSession(
        _ session: any Transport, downloadTask: any TransferTask,
        didFinishDownloadingTo location: URL
    ) {
        perform {
            $0.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
        }
    }
}

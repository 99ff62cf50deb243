import OutletTransport

extension EventMonitor {
    /// Calls the method for the event.
    ///
    /// - Parameters:
    ///   - event: The event; the request may have changed since it occurred.
    ///   - request: The request of the event; `nil` for the end of a session.
    public func observe(_ event: Event, of request: Request?) {
        guard let request else {
            if case .sessionDidBecomeInvalid(let transport, let error) = event {
                urlSession(transport, didBecomeInvalidWithError: error)
            }
            return
        }
        // Split into three functions by the type of the methods' first argument.
        if !notifyOfRequest(event, request), !notifyOfKind(event, request) {
            notifyOfTransfer(event, request.core.transport)
        }
    }

    private func notifyOfRequest(_ event: Event, _ request: Request) -> Bool {
        switch event {
        case .didCreateInitialURLRequest(let initial):
            self.request(request, didCreateInitialURLRequest: initial)
        case .didFailToCreateURLRequest(let error):
            self.request(request, didFailToCreateURLRequestWithError: error)
        case .didAdaptInitialRequest(let initial, let adapted):
            self.request(request, didAdaptInitialRequest: initial, to: adapted)
        case .didFailToAdaptURLRequest(let initial, let error):
            self.request(request, didFailToAdaptURLRequest: initial, withError: error)
        case .didCreateURLRequest(let made):
            self.request(request, didCreateURLRequest: made)
        case .didCreateTask(let task):
            self.request(request, didCreateTask: task)
        case .didGatherMetrics(let metrics):
            self.request(request, didGatherMetrics: metrics)
        case .didFailTask(let task, let error):
            self.request(request, didFailTask: task, earlyWithError: error)
        case .didCompleteTask(let task, let error):
            self.request(request, didCompleteTask: task, with: error)
        case .willRedirect(let next, let response):
            self.request(request, willRedirectTo: next, after: response)
        case .didCompleteExchange(let exchange, let task):
            self.request(request, didComplete: exchange, of: task)
        case .isRetrying: requestIsRetrying(request)
        case .didFinish: requestDidFinish(request)
        case .didResume: requestDidResume(request)
        case .didResumeTask(let task): self.request(request, didResumeTask: task)
        case .didSuspend: requestDidSuspend(request)
        case .didSuspendTask(let task): self.request(request, didSuspendTask: task)
        case .didCancel: requestDidCancel(request)
        case .didCancelTask(let task): self.request(request, didCancelTask: task)
        case .didParseResponse(let parsed), .didParseStream(let parsed): parsed.notify(self)
        default: return false
        }
        return true
    }

    private func notifyOfKind(_ event: Event, _ request: Request) -> Bool {
        switch (event, request) {
        case (.didCreateUploadable(let uploadable), let request as UploadRequest):
            self.request(request, didCreateUploadable: uploadable)
        case (.didFailToCreateUploadable(let error), let request as UploadRequest):
            self.request(request, didFailToCreateUploadableWithError: error)
        case (.didProvideInputStream(let stream), let request as UploadRequest):
            self.request(request, didProvideInputStream: stream)
        case (.didFinishDownloading(let task, let result), let request as DownloadRequest):
            self.request(request, didFinishDownloadingUsing: task, with: result)
        case (.didCreateDestinationURL(let url), let request as DownloadRequest):
            self.request(request, didCreateDestinationURL: url)
        case (.didValidate(let validation), let request as DataRequest):
            self.request(
                request, didValidateRequest: validation.request, response: validation.response,
                data: validation.data, withResult: validation.result)
        case (.didValidate(let validation), let request as DownloadRequest):
            self.request(
                request, didValidateRequest: validation.request, response: validation.response,
                fileURL: validation.fileURL, withResult: validation.result)
        case (.didValidate(let validation), let request as DataStreamRequest):
            self.request(
                request, didValidateRequest: validation.request, response: validation.response,
                withResult: validation.result)
        default: return false
        }
        return true
    }

    private func notifyOfTransfer(_ event: Event, _ transport: any Transport) {
        switch event {
        case .taskDidReceiveChallenge(let task, let challenge):
            urlSession(transport, task: task, didReceive: challenge)
        case .taskDidSendBodyData(let task, let sent, let total, let expected):
            urlSession(
                transport, task: task, didSendBodyData: sent, totalBytesSent: total,
                totalBytesExpectedToSend: expected)
        case .taskNeedsNewBodyStream(let task):
            urlSession(transport, taskNeedsNewBodyStream: task)
        case .taskWillRedirect(let task, let next, let response):
            urlSession(
                transport, task: task, willPerformHTTPRedirection: response, newRequest: next)
        case .taskDidGatherMetrics(let task, let metrics):
            urlSession(transport, task: task, didFinishCollecting: metrics)
        case .taskDidComplete(let task, let error):
            urlSession(transport, task: task, didCompleteWithError: error)
        case .taskIsWaitingForConnectivity(let task):
            urlSession(transport, taskIsWaitingForConnectivity: task)
        case .taskDidReceiveResponse(let task, let response):
            urlSession(transport, dataTask: task, didReceive: response)
        case .taskDidReceiveData(let task, let data):
            urlSession(transport, dataTask: task, didReceive: data)
        case .taskWillCacheResponse(let task, let proposed):
            urlSession(transport, dataTask: task, willCacheResponse: proposed)
        case .taskDidResumeAtOffset(let task, let offset, let expected):
            urlSession(
                transport, downloadTask: task, didResumeAtOffset: offset,
                expectedTotalBytes: expected)
        case .taskDidWriteData(let task, let written, let total, let expected):
            urlSession(
                transport, downloadTask: task, didWriteData: written, totalBytesWritten: total,
                totalBytesExpectedToWrite: expected)
        case .taskDidFinishDownloading(let task, let url):
            urlSession(transport, downloadTask: task, didFinishDownloadingTo: url)
        default: break
        }
    }
}

public import FoundationEssentials
import OutletHTTP
import OutletTransport

extension DownloadRequest {
    /// Ends the download, and keeps what has come so far if so wished.
    ///
    /// - Parameter shouldProduceResumeData: Whether ``resumeData`` is to be there afterwards.
    @discardableResult
    public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
        if shouldProduceResumeData {
            download.withLock { state in
                state.keepsPart = true
                if state.fileURL == nil, state.resumeData == nil {
                    state.resumeData = state.resumable?.encoded
                }
            }
        }
        return cancel()
    }

    /// Ends the download, and hands over what is needed to go on with it.
    ///
    /// - Parameter completionHandler: Called exactly once, on the session's callback queue, with
    ///   `nil` when the download cannot be gone on with.
    @discardableResult
    public func cancel(
        byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void
    ) -> Self {
        download.withLock { $0.resumeDataHandlers.append(completionHandler) }
        cancel(producingResumeData: true)
        // The request may have finished before the handler was set.
        if mutable.withLock({ $0.machine.phase == .finished }) {
            let (handlers, data) = download.withLock { state in
                defer { state.resumeDataHandlers = [] }
                return (state.resumeDataHandlers, state.resumeData)
            }
            for handler in handlers { core.call(on: nil) { handler(data) } }
        }
        return self
    }

    /// Removes what a download that broke off has left: nobody wants to go on with it.
    ///
    /// Does nothing when a download goes on with it now, or the file is gone.
    ///
    /// - Parameter resumeData: What ``resumeData`` was.
    public static func discard(resumeData: Data) {
        guard let known = try? ResumeData(resumeData) else { return }
        PartFile(takingOver: known.file)?.remove()
    }

    /// The attempt did not bring the content: what has come of it is kept if it is of use.
    func keepForLater() {
        let (last, response, error) = mutable.withLock { mutable in
            (mutable.history.requests.last, mutable.attempt.response, mutable.attempt.error)
        }
        let isCancelled = error?.isExplicitlyCancelledError == true
        let data = download.withLock { state -> Data? in
            if state.plan == .whole, let part = state.part {
                let announced = response?.expectedContentLength ?? -1
                state.resumable = ResumeData(
                    request: last, response: response, bytesReceived: part.size,
                    totalBytes: announced < 0 ? nil : announced, file: part.path)
            }
            if state.plan == .continued, let part = state.part { state.keepPart(part.size) }
            if isCancelled, !state.keepsPart { state.resumable = nil }
            state.resumeData = state.resumable?.encoded
            return state.resumeData
        }
        guard let data, case .sessionTaskFailed(var failure as TransferError)? = error else {
            return
        }
        failure.downloadResumeData = data
        let known = SessionError.sessionTaskFailed(error: failure)
        mutable.withLock { $0.attempt.overrule(known) }
    }
}

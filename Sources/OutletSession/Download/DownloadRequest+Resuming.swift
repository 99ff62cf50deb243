public import FoundationEssentials
import OutletHTTP
import OutletTransport

extension DownloadRequest {
    /// Cancels the download, and keeps the part received so far on request.
    ///
    /// - Parameter shouldProduceResumeData: Whether to set ``resumeData`` and keep the temporary
    ///   file, also one that the download was to be resumed with; without effect if the download
    ///   cannot be resumed.
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

    /// Cancels the download, and delivers the data to resume it with.
    ///
    /// - Parameter completionHandler: Called exactly once, on the session's callback queue, with
    ///   the value of ``resumeData``; `nil` when the download cannot be resumed.
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

    /// Removes the temporary file of an interrupted download that will not be resumed.
    ///
    /// Does nothing if a download is using the file now, the file is gone, or the data is not
    /// valid.
    ///
    /// - Parameter resumeData: The value of ``resumeData`` of that download.
    ///
    /// Thread: any; blocks while the file is removed.
    public static func discard(resumeData: Data) {
        guard let known = try? ResumeData(resumeData) else { return }
        PartFile(takingOver: known.file)?.remove()
    }

    /// After an attempt without the content: keeps the part received so far if it can be resumed.
    ///
    /// - Parameter hasReceived: Whether bytes may have been received since the last call.
    func keepForLater(hasReceived: Bool = true) {
        let (last, response, error) = mutable.withLock { mutable in
            (mutable.history.lastRequest, mutable.attempt.response, mutable.attempt.error)
        }
        // Middleware may throw the same error.
        let isCancelled = isCancelled && error?.isExplicitlyCancelledError == true
        let data = download.withLock { state -> Data? in
            guard !state.isOver else { return nil }
            if hasReceived, state.plan == .whole, let part = state.part {
                let announced = response?.expectedContentLength ?? -1
                state.resumable = ResumeData(
                    request: last, before: state.initial, response: response,
                    bytesReceived: part.size, totalBytes: announced < 0 ? nil : announced,
                    file: part.path)
            }
            if hasReceived, state.plan == .continued, let part = state.part {
                state.keepPart(part.size)
            }
            if isCancelled, !state.keepsPart {
                // Removed at the end, also if it was not used yet.
                if state.part == nil, let unused = state.resumable {
                    state.part = PartFile(takingOver: unused.file)
                }
                state.resumable = nil
            }
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

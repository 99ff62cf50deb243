public import Dispatch
import OutletHTTP
public import OutletTransport

extension Request {
    /// The progress of sending the request's body, of the current attempt.
    ///
    /// It begins again where a redirect repeats the body.
    ///
    /// Without a progress closure or sequence, counting starts with the first read of this
    /// property, which returns 0 of 0 bytes unless the transfer is over.
    public var uploadProgress: TransferProgress {
        progress(\.uploaded) { mutable in
            TransferProgress(
                completedUnitCount: mutable.attempt.lastMetrics?.requestBodyBytes ?? 0,
                totalUnitCount: mutable.attempt.lastMetrics?.requestBodyBytes ?? 0)
        }
    }

    /// The progress of receiving the response's body, of the current attempt.
    ///
    /// Without a progress closure or sequence, counting starts with the first read of this
    /// property, which returns 0 of 0 bytes unless the transfer is over.
    public var downloadProgress: TransferProgress {
        let place = bodyPlace
        return progress(\.downloaded) { mutable in
            // A body from the cache was not received, but counts as complete.
            if let data = mutable.attempt.data,
                mutable.attempt.lastMetrics?.resourceFetchType != .networkLoad
            {
                let count = Int64(data.count)
                return TransferProgress(completedUnitCount: count, totalUnitCount: count)
            }
            return place.progress(
                mutable.attempt.lastMetrics?.responseBodyBytes ?? 0,
                of: mutable.attempt.response?.expectedContentLength ?? 0)
        }
    }

    /// Calls a closure whenever bytes of the request's body have been sent.
    ///
    /// Completion handlers wait until all calls of the closure have returned, for at most one
    /// second, and not after a cancel; the closure is not called any more after that.
    ///
    /// - Parameters:
    ///   - queue: Where `closure` runs; the session's callback queue if `nil`. On a concurrent queue,
    ///     calls may overlap and come in any order.
    ///   - closure: Called with the bytes sent and to be sent in the current attempt, also from 0
    ///     again where a redirect repeats the body. Replaces a closure set before.
    @discardableResult
    public func uploadProgress(
        queue: DispatchQueue? = nil, closure: @escaping ProgressHandler
    ) -> Self {
        watchProgress { $0.uploadProgress.observer = .init(queue: queue, body: closure) }
        expectStart()
        return self
    }

    /// Calls a closure whenever bytes of the response's body have been received.
    ///
    /// Completion handlers wait until all calls of the closure have returned, for at most one
    /// second, and not after a cancel; the closure is not called any more after that.
    ///
    /// - Parameters:
    ///   - queue: Where `closure` runs; the session's callback queue if `nil`. On a concurrent queue,
    ///     calls may overlap and come in any order.
    ///   - closure: Called with the bytes received and expected in the current attempt; the total
    ///     is -1 if the server does not announce it, or the body has a content coding. Replaces a
    ///     closure set before.
    @discardableResult
    public func downloadProgress(
        queue: DispatchQueue? = nil, closure: @escaping ProgressHandler
    ) -> Self {
        watchProgress { $0.downloadProgress.observer = .init(queue: queue, body: closure) }
        expectStart()
        return self
    }

    /// Reports the progress of a transfer to closures, sequences and monitors.
    ///
    /// - Parameters:
    ///   - task: The transfer.
    ///   - progress: The bytes sent and received so far.
    ///   - turn: Collects work for dispatch queues until the turn ends; do not keep it.
    ///
    /// Thread: the transport's.
    public func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        let place = bodyPlace
        var former = TransferCounts()
        let calls = mutable.withLock { mutable -> LaterCalls? in
            guard let observers = mutable.observers else { return nil }
            former = observers.counts
            observers.counts = progress
            return observers.note(progress, at: place, of: self)
        }
        for call in calls ?? [] { call() }
        notifyProgress(from: former, to: progress, of: task)
    }

    /// Delivers the values when all progress calls have returned, or after the time limit.
    func waitForProgress() {
        let wait = Wait<Void>(core.deadlines) {
            self.onFinishingQueue { self.serializeNext(at: $0) }
        }
        let isNeeded = mutable.withLock { $0.observers?.progressOrder.keep(wait) == true }
        guard isNeeded else { return wait.answer(()) }
        wait.begin(for: core.configuration.progressPatience) {
            self.mutable.withLock { $0.observers?.progressOrder.giveUp() }
        }
    }

    /// Whether a queued progress closure may still be called.
    func beginProgressCall() -> Bool {
        mutable.withLock { $0.observers?.progressOrder.begin() == true }
    }

    /// A progress closure has returned.
    func endProgressCall() {
        let wait = mutable.withLock { $0.observers?.progressOrder.end() }
        wait?.answer(())
    }

    /// Changes the progress observers, and makes the transport count bytes.
    func watchProgress(_ change: (RequestObservers) -> Void) {
        watchesHeads = true
        let task = mutable.withLock { mutable -> (any TransferTask)? in
            let observers = mutable.watched()
            change(observers)
            defer { observers.wantsProgress = true }
            return observers.wantsProgress ? nil : mutable.history.tasks.last
        }
        task?.reportProgress()
    }

    private func progress(
        _ path: KeyPath<RequestObservers, TransferProgress>,
        unwatched: (borrowing Mutable) -> TransferProgress
    ) -> TransferProgress {
        let known = mutable.withLock { mutable -> TransferProgress? in
            if let observers = mutable.observers, observers.wantsProgress {
                return observers[keyPath: path]
            }
            return mutable.machine.phase > .transferring ? unwatched(mutable) : nil
        }
        if let known { return known }
        watchProgress { _ in }
        return TransferProgress()
    }
}

extension Request.Mutable {
    /// The observers, created on first use.
    mutating func watched() -> RequestObservers {
        if let observers { return observers }
        let observers = RequestObservers()
        self.observers = observers
        return observers
    }
}

public import Dispatch
import OutletHTTP
public import OutletTransport

extension Request {
    /// How far the request's body has come; live from the first call on, or once watched.
    public var uploadProgress: TransferProgress {
        progress(\.uploaded) { mutable in
            TransferProgress(
                completedUnitCount: mutable.attempt.lastMetrics?.requestBodyBytes ?? 0,
                totalUnitCount: mutable.attempt.lastMetrics?.requestBodyBytes ?? 0)
        }
    }

    /// How far the response's body has come; live from the first call on, or once watched.
    public var downloadProgress: TransferProgress {
        progress(\.downloaded) { mutable in
            // What came from the cache was not received, but is there.
            if let data = mutable.attempt.data,
                mutable.attempt.lastMetrics?.resourceFetchType != .networkLoad
            {
                let count = Int64(data.count)
                return TransferProgress(completedUnitCount: count, totalUnitCount: count)
            }
            return TransferProgress(
                completedUnitCount: mutable.attempt.lastMetrics?.responseBodyBytes ?? 0,
                totalUnitCount: mutable.attempt.response?.expectedContentLength ?? 0)
        }
    }

    /// Calls a closure whenever bytes of the request's body have been sent; the last one set counts.
    ///
    /// Not called once completions are: those wait until `queue` has run what came before, for a
    /// second at most, and not after a cancel. What is late by then is not told.
    ///
    /// - Parameters:
    ///   - queue: Where `closure` runs; the session's callback queue if `nil`.
    ///   - closure: Given bytes sent and in all, of the attempt under way.
    @discardableResult
    public func uploadProgress(
        queue: DispatchQueue? = nil, closure: @escaping ProgressHandler
    ) -> Self {
        watchProgress { $0.uploadProgress.observer = .init(queue: queue, body: closure) }
        return self
    }

    /// Calls a closure whenever bytes of the response's body have come; the last one set counts.
    ///
    /// Not called once completions are: those wait until `queue` has run what came before, for a
    /// second at most, and not after a cancel. What is late by then is not told.
    ///
    /// - Parameters:
    ///   - queue: Where `closure` runs; the session's callback queue if `nil`.
    ///   - closure: Given bytes received and in all, of the attempt under way; the total is -1 when
    ///     the server does not announce it, or the body is decoded on its way.
    @discardableResult
    public func downloadProgress(
        queue: DispatchQueue? = nil, closure: @escaping ProgressHandler
    ) -> Self {
        watchProgress { $0.downloadProgress.observer = .init(queue: queue, body: closure) }
        return self
    }

    /// Tells the closures how far the bodies have come.
    public func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        let offset = bodyOffset
        var former = TransferCounts()
        let calls = mutable.withLock { mutable -> LaterCalls? in
            guard let observers = mutable.observers else { return nil }
            former = observers.counts
            observers.counts = progress
            return observers.note(progress, offset: offset, of: self)
        }
        for call in calls ?? [] { call() }
        tellProgress(from: former, to: progress, of: task)
    }

    /// Hands the completions over once all progress was told, or would come too late.
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

    /// Whether a progress closure may be called, now that its queue has come to it.
    func beginProgressCall() -> Bool {
        mutable.withLock { $0.observers?.progressOrder.begin() == true }
    }

    /// A progress closure has returned.
    func endProgressCall() {
        let wait = mutable.withLock { $0.observers?.progressOrder.end() }
        wait?.answer(())
    }

    /// Changes who watches; from now on the transport counts.
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
    /// The observers, made if there are none yet.
    mutating func watched() -> RequestObservers {
        if let observers { return observers }
        let observers = RequestObservers()
        self.observers = observers
        return observers
    }
}

public import OutletHTTP
public import OutletTransport

/// Sequences of a request's events, for `for await` loops; they end with the request, and do not
/// start it.
extension Request {
    /// Returns the progress of sending the request's body.
    ///
    /// - Parameter bufferingPolicy: How many values are kept for a slow loop; all by default.
    public func uploadProgress(
        bufferingPolicy: StreamOf<TransferProgress>.BufferingPolicy = .unbounded
    ) -> StreamOf<TransferProgress> {
        observe(bufferingPolicy, prepare: { $0.watchProgress { _ in } }) { mutable, buffer in
            mutable.watched().uploadProgress.streams.append(buffer)
        }
    }

    /// Returns the progress of receiving the response's body.
    ///
    /// - Parameter bufferingPolicy: How many values are kept for a slow loop; all by default.
    public func downloadProgress(
        bufferingPolicy: StreamOf<TransferProgress>.BufferingPolicy = .unbounded
    ) -> StreamOf<TransferProgress> {
        observe(bufferingPolicy, prepare: { $0.watchProgress { _ in } }) { mutable, buffer in
            mutable.watched().downloadProgress.streams.append(buffer)
        }
    }

    /// Returns the adapted requests of all attempts, starting with the last one made so far.
    ///
    /// - Parameter bufferingPolicy: How many requests are kept for a slow loop; all by default.
    public func urlRequests(
        bufferingPolicy: StreamOf<HTTPRequest>.BufferingPolicy = .unbounded
    ) -> StreamOf<HTTPRequest> {
        observe(bufferingPolicy) { mutable, buffer in
            if mutable.machine.phase >= .ready, let made = mutable.history.lastRequest {
                buffer.yield(made)
            }
            mutable.watched().urlRequest.streams.append(buffer)
        }
    }

    /// Returns the transfers of all attempts, starting with the last one started so far.
    ///
    /// - Parameter bufferingPolicy: How many transfers are kept for a slow loop; all by default.
    public func urlSessionTasks(
        bufferingPolicy: StreamOf<any TransferTask>.BufferingPolicy = .unbounded
    ) -> StreamOf<any TransferTask> {
        observe(bufferingPolicy) { mutable, buffer in
            if let begun = mutable.history.tasks.last { buffer.yield(begun) }
            mutable.watched().task.streams.append(buffer)
        }
    }

    /// Returns a value for each attempt, computed when its request is made, starting with the last
    /// one made so far.
    ///
    /// - Parameters:
    ///   - bufferingPolicy: How many values are kept for a slow loop.
    ///   - value: Called for each attempt, on the thread on which its request was made; for the first,
    ///     on the loop's.
    package func valuesWhenMade<Value: Sendable>(
        bufferingPolicy: StreamOf<Value>.BufferingPolicy,
        _ value: @escaping @Sendable (Request) -> Value
    ) -> StreamOf<Value> {
        StreamOf(bufferingPolicy: bufferingPolicy) { buffer in
            self.expectStart()
            var known: Int?
            while true {
                let (made, isOver) = self.mutable.withLock { mutable -> (Int?, Bool) in
                    if let made = mutable.madeAttempt, made != known { return (made, false) }
                    mutable.watched().madeStreams.append(
                        .init(yield: { buffer.yield(value($0)) }, finish: { buffer.finish() }))
                    return (nil, mutable.machine.phase == .finished)
                }
                guard let made else {
                    if isOver { buffer.finish() }
                    return
                }
                // Outside the lock, which computing the value takes.
                known = made
                buffer.yield(value(self))
            }
        }
    }

    func responses(
        _ bufferingPolicy: StreamOf<HTTPResponse>.BufferingPolicy
    ) -> StreamOf<HTTPResponse> {
        observe(bufferingPolicy, prepare: { $0.watchesHeads = true }) { mutable, buffer in
            mutable.watched().responseStreams.append(buffer)
        }
    }

    func setDispositionHandler(
        inTask handler: @escaping @Sendable (HTTPResponse) async -> ResponseDisposition
    ) {
        setDispositionHandler(
            RequestObservers.DispositionHandler(queue: core.requestQueue) {
                response, completionHandler in
                Task { completionHandler(await handler(response)) }
            })
    }

    /// - Parameters:
    ///   - bufferingPolicy: How many values are kept for a slow loop.
    ///   - prepare: Called when a loop starts, before `subscribe`.
    ///   - subscribe: Adds the loop's buffer to the observers; called under the request's lock.
    private func observe<Value: Sendable>(
        _ bufferingPolicy: StreamOf<Value>.BufferingPolicy,
        prepare: @escaping @Sendable (Request) -> Void = { _ in },
        subscribe: @escaping @Sendable (inout Mutable, StreamBuffer<Value>) -> Void
    ) -> StreamOf<Value> {
        StreamOf(bufferingPolicy: bufferingPolicy) { buffer in
            prepare(self)
            self.expectStart()
            let isOver = self.mutable.withLock { mutable in
                subscribe(&mutable, buffer)
                return mutable.machine.phase == .finished
            }
            if isOver { buffer.finish() }
        }
    }
}

extension Request.Mutable {
    /// The attempt whose request was made last; `nil` while none was, or the next one is being made.
    fileprivate var madeAttempt: Int? {
        guard attempt.prepared != nil || machine.phase >= .ready, history.lastRequest != nil else {
            return nil
        }
        return machine.attempt
    }
}

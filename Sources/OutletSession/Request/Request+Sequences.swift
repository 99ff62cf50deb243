public import OutletHTTP
public import OutletTransport

/// What happens to a request, for `for await` loops; they end with the request, and do not start it.
extension Request {
    /// How far the request's body has come.
    ///
    /// - Parameter bufferingPolicy: What becomes of values that nobody takes in time.
    public func uploadProgress(
        bufferingPolicy: StreamOf<TransferProgress>.BufferingPolicy = .unbounded
    ) -> StreamOf<TransferProgress> {
        observe(bufferingPolicy, prepare: { $0.watchProgress { _ in } }) { mutable, buffer in
            mutable.watched().uploadProgress.streams.append(buffer)
        }
    }

    /// How far the response's body has come.
    ///
    /// - Parameter bufferingPolicy: What becomes of values that nobody takes in time.
    public func downloadProgress(
        bufferingPolicy: StreamOf<TransferProgress>.BufferingPolicy = .unbounded
    ) -> StreamOf<TransferProgress> {
        observe(bufferingPolicy, prepare: { $0.watchProgress { _ in } }) { mutable, buffer in
            mutable.watched().downloadProgress.streams.append(buffer)
        }
    }

    /// The requests of all attempts, adapted; the last one that was made comes first.
    ///
    /// - Parameter bufferingPolicy: What becomes of requests that nobody takes in time.
    public func urlRequests(
        bufferingPolicy: StreamOf<HTTPRequest>.BufferingPolicy = .unbounded
    ) -> StreamOf<HTTPRequest> {
        observe(bufferingPolicy) { mutable, buffer in
            if mutable.machine.phase >= .ready, let made = mutable.history.requests.last {
                buffer.yield(made)
            }
            mutable.watched().urlRequest.streams.append(buffer)
        }
    }

    /// The transfers of all attempts; the last one that was begun comes first.
    ///
    /// - Parameter bufferingPolicy: What becomes of transfers that nobody takes in time.
    public func urlSessionTasks(
        bufferingPolicy: StreamOf<any TransferTask>.BufferingPolicy = .unbounded
    ) -> StreamOf<any TransferTask> {
        observe(bufferingPolicy) { mutable, buffer in
            if let begun = mutable.history.tasks.last { buffer.yield(begun) }
            mutable.watched().task.streams.append(buffer)
        }
    }

    /// What a closure makes of each attempt once its request is made.
    ///
    /// - Parameters:
    ///   - bufferingPolicy: What becomes of values that nobody takes in time.
    ///   - value: Called at each attempt, where its request was made.
    package func valuesWhenMade<Value: Sendable>(
        bufferingPolicy: StreamOf<Value>.BufferingPolicy,
        _ value: @escaping @Sendable (Request) -> Value
    ) -> StreamOf<Value> {
        observe(bufferingPolicy) { mutable, buffer in
            mutable.watched().madeStreams.append(
                .init(yield: { buffer.yield(value($0)) }, finish: { buffer.finish() }))
        }
    }

    func responses(
        _ bufferingPolicy: StreamOf<HTTPResponse>.BufferingPolicy
    ) -> StreamOf<HTTPResponse> {
        observe(bufferingPolicy, prepare: { $0.watchesHeads = true }) { mutable, buffer in
            mutable.watched().responseStreams.append(buffer)
        }
    }

    func judgeResponses(
        inTask handler: @escaping @Sendable (HTTPResponse) async -> ResponseDisposition
    ) {
        judgeResponses(
            RequestObservers.Judge(queue: core.requestQueue) { response, completionHandler in
                Task { completionHandler(await handler(response)) }
            })
    }

    /// - Parameters:
    ///   - prepare: Called when a loop begins.
    ///   - subscribe: Called under the lock, when no loop waits yet.
    private func observe<Value: Sendable>(
        _ bufferingPolicy: StreamOf<Value>.BufferingPolicy,
        prepare: @escaping @Sendable (Request) -> Void = { _ in },
        subscribe: @escaping @Sendable (inout Mutable, StreamBuffer<Value>) -> Void
    ) -> StreamOf<Value> {
        StreamOf(bufferingPolicy: bufferingPolicy) { buffer in
            prepare(self)
            let isOver = self.mutable.withLock { mutable in
                subscribe(&mutable, buffer)
                return mutable.machine.phase == .finished
            }
            if isOver { buffer.finish() }
        }
    }
}

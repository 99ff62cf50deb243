import Dispatch
public import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A synchronous input stream over the body of a response.
///
/// Made by ``DataStreamRequest/asInputStream(bufferSize:readTimeout:)``. Unread bytes pause the
/// transfer, so the body is never held as a whole. Releasing or closing the stream does not end the
/// request; its other handlers continue.
///
/// Thread: any, one at a time; ``close()`` also during a read.
public final class ResponseInputStream: Sendable {
    /// The state of a stream.
    public enum Status: Sendable {
        /// Not opened yet.
        case notOpen
        /// Open: bytes can be read, or may follow.
        case open
        /// All bytes were read.
        case atEnd
        /// Closed.
        case closed
        /// The request has failed, or a read has timed out.
        case error
    }

    private struct State: Sendable {
        var unread: PieceBuffer
        /// The attempt that the bytes belong to.
        var attempt: Int?
        /// Whether some bytes of this attempt were read.
        var hasBegun = false
        var status = Status.notOpen
        /// Whether the request has ended; there may be unread bytes.
        var isComplete = false
        var error: (any Error)?
        var waiting: [DispatchSemaphore] = []

        /// Ends the stream with an error.
        mutating func fail(_ error: any Error) -> [PieceBuffer.Done] {
            self.error = error
            status = .error
            return unread.drop()
        }
    }

    private let readTimeout: TimeInterval
    private let state: Lock<State>

    init(bufferSize: Int, readTimeout: TimeInterval) {
        self.readTimeout = readTimeout
        state = Lock(State(unread: PieceBuffer(allowance: bufferSize)))
    }

    deinit { change { $0.unread.drop() } }

    // MARK: Reading

    /// The state of the stream.
    public var streamStatus: Status { state.withLock { $0.status } }

    /// Why the stream has failed; `nil` if it has not.
    ///
    /// The ``SessionError`` of the request; a `TransferError` with the code `timedOut` after a read
    /// that timed out; a ``SessionError/sessionTaskFailed(error:)`` if the request was retried
    /// after bytes were read, or had ended before the stream was made.
    public var streamError: (any Error)? { state.withLock { $0.status == .error ? $0.error : nil } }

    /// Whether ``read(_:maxLength:)`` may return bytes, at once or after waiting.
    public var hasBytesAvailable: Bool { state.withLock { $0.status == .open } }

    /// Opens the stream for reading; has no effect on a stream that was opened before.
    public func open() {
        change { state in
            if state.status == .notOpen { state.status = .open }
            return []
        }
    }

    /// Closes the stream; a waiting read returns -1.
    public func close() {
        change { state in
            state.status = .closed
            return state.unread.drop()
        }
    }

    /// Copies the next bytes, and waits for them if there are none.
    ///
    /// Blocks the calling thread until bytes arrive, the request ends, or the read times out, after
    /// which the stream has failed.
    ///
    /// - Parameters:
    ///   - buffer: The memory to copy to, of at least `maxLength` bytes.
    ///   - maxLength: The maximum number of bytes to copy.
    /// - Returns: The number of bytes copied; 0 at the end of the body; -1 if the stream is not
    ///   open or has failed (``streamError``).
    public func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        let buffer = UnsafeMutableRawBufferPointer(start: buffer, count: max(0, maxLength))
        let deadline = DispatchTime.now() + readTimeout
        while true {
            let waiter = DispatchSemaphore(value: 0)
            var count: Int?
            change { state in
                switch state.status {
                case .atEnd: count = 0
                case .notOpen, .closed, .error: count = -1
                case .open where state.unread.isEmpty && !buffer.isEmpty:
                    state.waiting.append(waiter)
                case .open:
                    let (copied, done) = state.unread.copy(into: buffer)
                    count = copied
                    if copied > 0 { state.hasBegun = true }
                    return done
                }
                return []
            }
            if let count { return count }
            if waiter.wait(timeout: deadline) == .timedOut { expire(waiter) }
        }
    }

    private func expire(_ waiter: DispatchSemaphore) {
        change { state in
            // The read may have been woken just before the deadline.
            guard state.waiting.contains(where: { $0 === waiter }) else { return [] }
            return state.fail(
                TransferError(
                    code: .timedOut, stage: .receiving,
                    reason: "no byte came to be read within \(readTimeout) s",
                    advice: "resume the request if it is suspended, or raise readTimeout"))
        }
    }

    // MARK: From the request

    /// Appends bytes of the body.
    func take(_ data: Data, attempt: Int, done: @escaping PieceBuffer.Done) {
        change { state in
            guard state.status == .open || state.status == .notOpen, !data.isEmpty else {
                return [done]
            }
            guard state.attempt != attempt else { return state.unread.append(data, done: done) }
            guard !state.hasBegun else { return [done] + state.fail(SessionError.madeAgain) }
            state.attempt = attempt
            return state.unread.drop() + state.unread.append(data, done: done)
        }
    }

    /// Ends the stream after the unread bytes; after a cancel, without them.
    func finish(_ error: SessionError?) {
        change { state in
            state.isComplete = true
            state.error = state.error ?? error
            return error == .explicitlyCancelled ? state.unread.drop() : []
        }
    }

    /// Changes the state under the lock; then, outside of it, calls closures and wakes waiting
    /// reads.
    private func change(_ body: (inout State) -> [PieceBuffer.Done]) {
        let (done, waiting) = state.withLock { state -> ([PieceBuffer.Done], [DispatchSemaphore]) in
            let done = body(&state)
            if state.status == .open, state.unread.isEmpty, state.isComplete {
                state.status = state.error == nil ? .atEnd : .error
            }
            guard state.status != .open || !state.unread.isEmpty else { return (done, []) }
            defer { state.waiting = [] }
            return (done, state.waiting)
        }
        for done in done { done() }
        for waiter in waiting { waiter.signal() }
    }
}

extension SessionError {
    fileprivate static var bodyIsGone: SessionError {
        .sessionTaskFailed(
            error: TransferError(
                code: .resourceUnavailable, stage: .receiving,
                reason: "the request was over before its body was asked for as a stream"))
    }

    fileprivate static var madeAgain: SessionError {
        .sessionTaskFailed(
            error: TransferError(
                code: .networkConnectionLost, stage: .receiving,
                reason: "the request was made again after a part of its first body was read",
                advice: "read another stream from its start, or do not retry this request"))
    }
}

extension DataStreamRequest {
    /// Starts the request, and returns its body as a stream for synchronous reads.
    ///
    /// The stream gets the bytes that were received before only if the request has no other handler
    /// yet.
    ///
    /// - Parameters:
    ///   - bufferSize: The number of unread bytes that do not count against
    ///     ``SessionConfiguration/streamBufferSize``.
    ///   - readTimeout: How long a read waits for bytes, in seconds.
    /// - Returns: A stream that has to be opened, never `nil`; it fails if the request has ended
    ///   already, and another handler got its body.
    public func asInputStream(
        bufferSize: Int = 1024, readTimeout: TimeInterval = 60
    ) -> ResponseInputStream? {
        let isLate = isFinished
        let stream = ResponseInputStream(bufferSize: bufferSize, readTimeout: readTimeout)
        let isFirst = add(
            Pipe(on: nil) { [weak stream] request, item in
                switch item {
                case .chunk(let data, let attempt, _):
                    request.notifyMonitors(of: Result<Data, Never>.success(data))
                    guard let stream, !request.isEnded else { return request.consumed(item) }
                    stream.take(data, attempt: attempt) { request.consumed(item) }
                case .completion: stream?.finish(request.complete().error)
                }
            })
        if isLate, !isFirst { stream.finish(.bodyIsGone) }
        resume()
        return stream
    }
}

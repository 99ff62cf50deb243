import Dispatch
public import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The body of a response for code that reads bytes when it wants them, as from a file.
///
/// Made by ``DataStreamRequest/asInputStream(bufferSize:readTimeout:)``. What is not read makes the
/// peer wait, so the body is never held as a whole. Dropping the stream, or closing it, leaves the
/// request to its other handlers.
///
/// Thread: any, one at a time; ``close()`` at any time.
public final class ResponseInputStream: Sendable {
    /// What a stream can do.
    public enum Status: Sendable {
        /// Nothing yet: it has to be opened.
        case notOpen
        /// Give bytes, or wait for them.
        case open
        /// Nothing more: all bytes were read.
        case atEnd
        /// Nothing more: it was closed.
        case closed
        /// Nothing more: the request failed, or no byte came in time.
        case error
    }

    private struct State: Sendable {
        var unread: PieceBuffer
        /// The attempt that the bytes belong to.
        var attempt: Int?
        /// Some of its bytes were read already.
        var hasBegun = false
        var status = Status.notOpen
        /// The request is over; what it brought may still have to be read.
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

    /// What the stream can do.
    public var streamStatus: Status { state.withLock { $0.status } }

    /// Why the stream has failed; `nil` as long as it has not.
    ///
    /// A ``SessionError`` of the request, or a `TransferError` with the code `timedOut` when no
    /// byte came in time.
    public var streamError: (any Error)? { state.withLock { $0.status == .error ? $0.error : nil } }

    /// Whether ``read(_:maxLength:)`` may give bytes, at once or after a wait.
    public var hasBytesAvailable: Bool { state.withLock { $0.status == .open } }

    /// Makes the stream ready to be read.
    public func open() {
        change { state in
            if state.status == .notOpen { state.status = .open }
            return []
        }
    }

    /// Ends the stream; a read that waits returns.
    public func close() {
        change { state in
            state.status = .closed
            return state.unread.drop()
        }
    }

    /// Copies the next bytes, and waits for them if none are there.
    ///
    /// Blocks its thread: until bytes have come, the request is over, or the time for a read has
    /// passed, which ends the stream.
    ///
    /// - Parameters:
    ///   - buffer: Where to.
    ///   - maxLength: How many bytes fit there.
    /// - Returns: How many bytes were copied; 0 at the end of the body; -1 when there can be none:
    ///   not opened, closed, or failed (``streamError``).
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
            // It may have been woken just before the deadline.
            guard state.waiting.contains(where: { $0 === waiter }) else { return [] }
            return state.fail(
                TransferError(
                    code: .timedOut, stage: .receiving,
                    reason: "no byte came to be read within \(readTimeout) s",
                    advice: "resume the request if it is suspended, or raise readTimeout"))
        }
    }

    // MARK: From the request

    /// Takes bytes of the body.
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

    /// The request is over; what has come before a failure can still be read, but not after a cancel.
    func finish(_ error: SessionError?) {
        change { state in
            state.isComplete = true
            state.error = state.error ?? error
            return error == .explicitlyCancelled ? state.unread.drop() : []
        }
    }

    /// Changes the state, then does what follows from it: under no lock.
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
    /// Gives the body to code that reads bytes when it wants them, such as a parser; starts the
    /// request.
    ///
    /// To be asked for before the request has begun, or as soon as it has: bytes that have passed are
    /// gone.
    ///
    /// - Parameters:
    ///   - bufferSize: How many unread bytes do not make the peer wait, besides
    ///     ``SessionConfiguration/streamBufferSize``.
    ///   - readTimeout: How long a read waits for bytes, in seconds.
    /// - Returns: A stream to be opened and read, never `nil`; it fails at once when the request is
    ///   over.
    public func asInputStream(
        bufferSize: Int = 1024, readTimeout: TimeInterval = 60
    ) -> ResponseInputStream? {
        let isLate = isFinished
        let stream = ResponseInputStream(bufferSize: bufferSize, readTimeout: readTimeout)
        add(
            Pipe(on: nil) { [weak stream] request, item, done in
                switch item {
                case .chunk(let data, let attempt):
                    request.tellMonitors(of: Result<Data, Never>.success(data))
                    guard let stream, !request.isEnded else { return done() }
                    stream.take(data, attempt: attempt, done: done)
                case .completion:
                    let error = request.complete().error
                    stream?.finish(error ?? (isLate ? .bodyIsGone : nil))
                    done()
                }
            })
        resume()
        return stream
    }
}

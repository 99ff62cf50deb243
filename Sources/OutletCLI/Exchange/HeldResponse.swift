import FoundationEssentials
import Outlet
import OutletTransport

/// Passes a response to its receiver while it arrives, but buffers one that may be retried.
///
/// If a plugin has a retrier, a response with a status of 400 and above is buffered until it is
/// known to be the last one.
///
/// Thread: any; the calls of one exchange never overlap.
final class HeldResponse: Sendable {
    /// The maximum number of buffered body bytes.
    ///
    /// A larger response is passed on, and its request is then not retried.
    static let limit = 1 << 20

    private struct State {
        /// The buffered head and its request; `nil` if nothing is buffered.
        var head: (HTTPResponse, HTTPRequest)?
        var pieces: [Data] = []
        var size = 0
        var isDeclined = false
    }

    private let receiver: any ResponseReceiver
    private let retries: RetryGuard?
    private let state = Lock(State())

    /// Makes the buffer of one exchange.
    ///
    /// - Parameters:
    ///   - receiver: Receives the response.
    ///   - retries: Prevents retries once something is passed on; `nil` if nothing is retried, and
    ///     nothing is buffered then.
    init(_ receiver: any ResponseReceiver, _ retries: RetryGuard?) {
        self.receiver = receiver
        self.retries = retries
    }

    /// Whether the receiver has declined the body.
    var isDeclined: Bool { state.withLock { $0.isDeclined } }

    /// Receives the head of a response; drops the buffered response of an earlier attempt.
    ///
    /// - Returns: Whether the body is wanted.
    func begin(_ head: HTTPResponse, to request: HTTPRequest) -> Bool {
        guard retries != nil, head.statusCode >= 400 else {
            state.withLock { $0.head = nil }
            return handOver(head, request)
        }
        state.withLock { $0 = State(head: (head, request)) }
        return true
    }

    /// Receives the next piece of the body.
    ///
    /// - Throws: ``OutputError`` if the receiver cannot write it.
    func append(_ piece: Data) throws {
        let isHeld = state.withLock { state in
            guard state.head != nil else { return false }
            state.pieces.append(piece)
            state.size += piece.count
            return true
        }
        guard isHeld else {
            retries?.didPrint()
            return try receiver.receive(piece)
        }
        if state.withLock({ $0.size > Self.limit }) { try release() }
    }

    /// Passes on the buffered response if it is that of the last attempt; drops that of an earlier one.
    ///
    /// - Parameter hasResponse: Whether the last attempt has a response.
    func end(hasResponse: Bool) {
        guard hasResponse else { return state.withLock { $0.head = nil } }
        // The receiver keeps its write error and reports it when it finishes.
        try? release()
    }

    private func handOver(_ head: HTTPResponse, _ request: HTTPRequest) -> Bool {
        retries?.didPrint()
        let isWanted = receiver.receive(head, to: request)
        state.withLock { $0.isDeclined = !isWanted }
        return isWanted
    }

    /// Passes on the buffered response.
    private func release() throws {
        let held = state.withLock { state in
            defer {
                state.head = nil
                state.pieces = []
            }
            return state
        }
        guard let (head, request) = held.head, handOver(head, request) else { return }
        for piece in held.pieces { try receiver.receive(piece) }
    }
}

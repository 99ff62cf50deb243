import FoundationEssentials
import Outlet
import Synchronization

/// Hands a response to its receiver while it arrives; one that a plugin may want to have repeated only
/// when it is known to be the last.
///
/// Thread: any; the calls of one exchange never overlap.
final class HeldResponse: Sendable {
    /// How many bytes of a body are held back, at most; what is larger is handed over, and not repeated.
    static let limit = 1 << 20

    private struct State {
        /// The head that is held back, and to which request.
        var head: (HTTPResponse, HTTPRequest)?
        var pieces: [Data] = []
        var size = 0
        var isDeclined = false
    }

    private let receiver: any ResponseReceiver
    private let retries: PrintedGuard?
    private let state = Mutex(State())

    /// - Parameter retries: Told once something is handed over; `nil` where nothing is repeated.
    init(_ receiver: any ResponseReceiver, _ retries: PrintedGuard?) {
        self.receiver = receiver
        self.retries = retries
        retries?.begin()
    }

    /// Whether the receiver did not want the body.
    var isDeclined: Bool { state.withLock { $0.isDeclined } }

    /// Takes the head of a response, that of another attempt in place of the one before.
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

    /// Takes the next piece of the body.
    ///
    /// - Throws: When the receiver cannot take it.
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

    /// The response was the last.
    func end() {
        // What cannot be written the receiver says at the end.
        try? release()
    }

    private func handOver(_ head: HTTPResponse, _ request: HTTPRequest) -> Bool {
        retries?.didPrint()
        let isWanted = receiver.receive(head, to: request)
        state.withLock { $0.isDeclined = !isWanted }
        return isWanted
    }

    /// Hands over what is held back.
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

/// Keeps a request from being tried again once something of its response was handed over: nobody can take
/// back what is on a terminal or in a pipe.
final class PrintedGuard: RequestInterceptor {
    private let hasPrinted = Atomic(false)

    /// Another request begins.
    func begin() { hasPrinted.store(false, ordering: .relaxed) }

    /// Something was handed over.
    func didPrint() { hasPrinted.store(true, ordering: .relaxed) }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        completion(
            hasPrinted.load(ordering: .relaxed)
                ? .doNotRetryWithError(AlreadyPrinted()) : .doNotRetry)
    }
}

/// A request is not tried again, because a part of its response was handed over.
struct AlreadyPrinted: Error {}

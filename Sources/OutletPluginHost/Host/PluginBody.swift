import COutletPlugin
import OutletHTTP
import OutletTransport

/// A request body that a plugin makes while it is sent.
///
/// The next piece is requested after the previous one has been read. The piece that completes a
/// declared length is sent after the plugin has ended the body, so that no server takes a part of it
/// for the whole.
///
/// Thread: any, one read at a time.
final class PluginBody: BodyStream {
    /// Calls the plugin to make a piece.
    ///
    /// The number is the number of bytes made before; the sink receives the piece.
    typealias Maker =
        @Sendable (OpaquePointer, outlet_call, UInt64, outlet_sink, outlet_completion)
        -> outlet_status

    private struct State {
        enum Phase {
            case idle
            /// The plugin is making a piece.
            case asked
            case ended
            case failed(any Error)
        }

        var phase = Phase.idle
        /// Whether the plugin has not answered yet, which may be for a piece of an earlier round.
        var isAnswerPending = false
        var piece: ArraySlice<UInt8> = []
        /// The piece that completes the declared length, until the plugin has ended the body.
        var last: [UInt8] = []
        /// The number of bytes made so far.
        var offset: UInt64 = 0
        /// Generation counter: incremented when the body is rewound.
        var round = 0
        /// Called once when there is something to read.
        var ready: (@Sendable () -> Void)?

        var isReadable: Bool {
            switch phase {
            case .idle, .asked: !piece.isEmpty
            case .ended, .failed: true
            }
        }

        /// Begins the next piece.
        ///
        /// - Returns: What to ask for; `nil` while the plugin has not answered.
        mutating func beginAsking() -> (round: Int, offset: UInt64)? {
            guard case .idle = phase, !isAnswerPending else { return nil }
            phase = .asked
            isAnswerPending = true
            return (round, offset)
        }
    }

    let length: Int64?
    /// The plugin, for errors.
    var name: String { "plugin \(stream.instance.id), which makes the body (stream_make)" }
    private let stream: PluginStream
    private let make: Maker
    /// The time limit for a piece, in nanoseconds.
    private let limit: UInt64
    private let state = Lock(State())

    init(_ stream: PluginStream, length: Int64?, limit: UInt64, make: @escaping Maker) {
        self.stream = stream
        self.length = length
        self.limit = limit
        self.make = make
        if length == 0 { stream.note(isWhole: true) }
    }

    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool {
        let (isReadable, next) = state.withLock { state -> (Bool, (round: Int, offset: UInt64)?) in
            guard !state.isReadable else { return (true, nil) }
            if case .idle = state.phase, let length, state.offset == UInt64(clamping: length) {
                state.phase = .ended
                return (true, nil)
            }
            state.ready = ready
            return (false, state.beginAsking())
        }
        if isReadable { return false }
        if let next { ask(for: next.round, behind: next.offset) }
        // A plugin that never blocks may have made the piece already.
        return state.withLock { state in
            if state.isReadable { state.ready = nil }
            return !state.isReadable
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try state.withLock { state in
            if !state.piece.isEmpty {
                let part = state.piece.prefix(buffer.count)
                buffer.copyBytes(from: part)
                state.piece = state.piece.dropFirst(part.count)
                return part.count
            }
            switch state.phase {
            case .ended: return 0
            case .failed(let error): throw error
            case .idle where length == 0: return 0
            case .idle, .asked: throw NotMadeYet()
            }
        }
    }

    func rewind() throws {
        try state.withLock { state in
            if case .failed(let error) = state.phase { throw error }
            state = State(isAnswerPending: state.isAnswerPending, round: state.round + 1)
        }
        stream.note(isWhole: length == 0)
        stream.abandonPiece()
    }

    private func ask(for round: Int, behind offset: UInt64) {
        let sink = SinkHandle()
        stream.ask(.streamMake, passing: .init(request: sink), limit: limit) { [make] in
            make($0, $1, offset, outlet_sink(id: $2.request.id), $2)
        } answered: { [weak self] failure in
            guard let self else { return }
            let failure = failure ?? refusal(of: sink)
            take(
                failure.map { .failure(TransferError(refusedBecauseOf: $0)) }
                    ?? .success(sink.content), round)
        }
    }

    /// The failure of a piece that the host has refused to take; `nil` for others.
    private func refusal(of sink: SinkHandle) -> PluginError? {
        guard let refusal = sink.refusal else { return nil }
        stream.instance.owner.recordViolation(.forbiddenValue, "stream_make: \(refusal)")
        return stream.instance.failure(of: .streamMake, refusal)
    }

    private func take(_ piece: Result<[UInt8], any Error>, _ round: Int) {
        var fault: String?
        let (ready, next) = state.withLock {
            state -> ((@Sendable () -> Void)?, (round: Int, offset: UInt64)?) in
            state.isAnswerPending = false
            guard state.round == round, case .asked = state.phase else {
                // The body has been rewound, and its reader waits for the first piece again.
                return (nil, state.ready == nil ? nil : state.beginAsking())
            }
            switch piece {
            case .success(let bytes):
                state.offset += UInt64(bytes.count)
                if let wrong = wrongLength(state.offset, isEnd: bytes.isEmpty) {
                    fault = wrong
                    let error = stream.instance.failure(of: .streamMake, wrong)
                    state.phase = .failed(TransferError(refusedBecauseOf: error))
                    return (state.ready.take(), nil)
                }
                if !bytes.isEmpty, length == Int64(clamping: state.offset) {
                    state.last = bytes
                    state.phase = .idle
                    return (nil, state.beginAsking())
                }
                state.piece = bytes.isEmpty ? state.last[...] : bytes[...]
                state.phase = bytes.isEmpty ? .ended : .idle
                stream.note(isWhole: bytes.isEmpty)
            case .failure(let error): state.phase = .failed(error)
            }
            return (state.ready.take(), nil)
        }
        if let fault {
            stream.instance.owner.recordViolation(.forbiddenValue, "stream_make: \(fault)")
        }
        if let next { ask(for: next.round, behind: next.offset) }
        ready?()
    }

    /// A description of what is wrong with the length of the body; `nil` if nothing is.
    ///
    /// - Parameters:
    ///   - made: The number of bytes made so far.
    ///   - isEnd: Whether the plugin has ended the body.
    private func wrongLength(_ made: UInt64, isEnd: Bool) -> String? {
        guard let length, let declared = UInt64(exactly: length) else { return nil }
        guard made <= declared else {
            return "its body has more than the \(declared) bytes that it declared"
        }
        guard isEnd, made < declared else { return nil }
        return "its body has \(made) of the \(declared) bytes that it declared"
    }

    /// The error for reading the body where waiting for the plugin is not possible.
    private struct NotMadeYet: Error, CustomStringConvertible {
        var description: String {
            "it is made by a plugin while it is sent and cannot be read before"
        }
    }
}

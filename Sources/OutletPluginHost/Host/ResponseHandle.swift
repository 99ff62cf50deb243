import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// The outcome of a request as one hook of one plugin sees it.
final class ResponseHandle: Sendable, SettledSubject {
    /// What came of a request.
    struct Outcome: Sendable {
        var response: HTTPResponse?
        var body: Data
        /// Where a download's body is.
        var file: URL?
        /// A stable word and a text; `nil` when the request did not fail.
        var failure: (code: String, message: String)?
    }

    /// What a plugin put in its place.
    enum Replacement: Sendable {
        case response(RequestHandle.Answer)
        case failure(PluginReason)
    }

    private struct State {
        var outcome: Outcome
        var replacement: Replacement?
        var isMutable: Bool
        var isSealed = false
        var arena = ByteArena()
    }

    private let state: Lock<State>
    private let file: BodyReader?

    init(_ outcome: Outcome, isMutable: Bool) {
        state = Lock(State(outcome: outcome, replacement: nil, isMutable: isMutable))
        file = outcome.file.map {
            BodyReader(.file(path: $0.path(percentEncoded: false)), mayReadStream: false)
        }
    }

    /// What the plugin put in place of the outcome, if it did; no change is accepted any more, and only
    /// what the plugin has borrowed is kept.
    @discardableResult
    func seal() -> Replacement? {
        state.withLock { state in
            state.isMutable = false
            state.isSealed = true
            defer {
                state.outcome = Outcome(response: nil, body: Data(), failure: nil)
                state.replacement = nil
            }
            return state.replacement
        }
    }

    func close() {
        state.withLock { state in
            state.isMutable = false
            state.isSealed = true
        }
    }

    /// `nil` when no response arrived.
    var status: Int32? {
        state.withLock { $0.outcome.response.map { Int32(clamping: $0.statusCode) } }
    }

    /// The fields, why the request failed, and how long the body is.
    func snapshot() -> (fields: LentFields, failure: (code: Loan, message: Loan)?, length: UInt64?)
    {
        state.withLock { state in
            let outcome = state.outcome
            return (
                state.arena.lend(outcome.response?.headers ?? HTTPHeaders()),
                outcome.failure.map {
                    (state.arena.lend($0.code), state.arena.lend($0.message))
                },
                outcome.file.map {
                    BodyReader.length(of: .file(path: $0.path(percentEncoded: false)))
                } ?? UInt64(outcome.body.count)
            )
        }
    }

    /// Reads a part of the body.
    func readBody(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> BodyReader.Part
    {
        let (isSealed, data) = state.withLock { state in
            (state.isSealed, state.outcome.file == nil ? state.outcome.body : nil)
        }
        if isSealed { return .stale }
        if let data { return .bytes(data.copy(from: offset, into: buffer)) }
        return file?.read(at: offset, into: buffer) ?? .bytes(0)
    }

    func failure() -> (code: Loan, message: Loan)? {
        state.withLock { state in
            guard let failure = state.outcome.failure else { return nil }
            return (state.arena.lend(failure.code), state.arena.lend(failure.message))
        }
    }

    func header(_ name: String, _ nth: Int) -> Loan? {
        state.withLock { state in
            let values = state.outcome.response?.headers.values(for: name) ?? []
            guard values.indices.contains(nth) else { return nil }
            return state.arena.lend(values[nth])
        }
    }

    func headers() -> [(name: Loan, value: Loan)] {
        state.withLock { state in
            let headers = state.outcome.response?.headers ?? HTTPHeaders()
            return state.arena.lend(headers.map { (name: $0.name, value: $0.value) })
        }
    }

    func body() -> Loan {
        state.withLock { $0.arena.lend($0.outcome.body) }
    }

    func replace(_ replacement: Replacement) -> outlet_status {
        state.withLock { state in
            guard state.isMutable else {
                return state.isSealed ? OUTLET_E_STALE : OUTLET_E_STATE
            }
            state.replacement = replacement
            switch replacement {
            case .response(let answer):
                state.outcome.response = HTTPResponse(
                    url: state.outcome.response?.url, statusCode: answer.status,
                    headers: answer.headers)
                state.outcome.body = Data(answer.body)
                state.outcome.file = nil
                state.outcome.failure = nil
            case .failure(let reason):
                state.outcome.failure = (
                    code: reason.code.isEmpty ? "plugin" : reason.code, message: reason.message
                )
            }
            return OUTLET_OK
        }
    }
}

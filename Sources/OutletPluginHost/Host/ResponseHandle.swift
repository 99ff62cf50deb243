import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// The outcome of a request as one hook of one plugin sees it.
///
/// Thread: any.
final class ResponseHandle: Sendable, SettledSubject {
    /// The response or the failure of a request.
    struct Outcome: Sendable {
        /// The response; `nil` if none arrived.
        var response: HTTPResponse?
        var body: Data
        /// The file with the body of a download; `nil` for other requests.
        var file: URL?
        /// A stable code and a message; `nil` if the request did not fail.
        var failure: (code: String, message: String)?
    }

    /// The outcome that a plugin sets in place of the current one.
    enum Replacement: Sendable {
        case response(RequestHandle.Answer)
        case failure(PluginReason)
    }

    private struct State: ~Copyable {
        var outcome: Outcome
        var replacement: Replacement?
        var isMutable: Bool
        var isSealed = false
        var copies = MessageCopies()
    }

    private let state: Lock<State>
    private let file: BodyReader?

    /// Creates a handle.
    ///
    /// - Parameters:
    ///   - outcome: The outcome.
    ///   - isMutable: Whether the hook may replace the outcome.
    init(_ outcome: Outcome, isMutable: Bool) {
        state = Lock(State(outcome: outcome, replacement: nil, isMutable: isMutable))
        file = outcome.file.map {
            BodyReader(.file(path: $0.path), mayReadStream: false)
        }
    }

    /// Ends the hook's access and returns the replacement; `nil` if the plugin set none.
    ///
    /// Further changes fail with `OUTLET_E_STALE`. Only the copies that the plugin has read are
    /// kept.
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

    /// The status code; `nil` if no response arrived.
    var status: Int32? {
        state.withLock { $0.outcome.response.map { Int32(clamping: $0.statusCode) } }
    }

    /// Returns the header fields, the failure, and the body's length in bytes if it is known.
    func snapshot() -> (
        fields: CopiedFields, failure: (code: CopiedBytes, message: CopiedBytes)?, length: UInt64?
    ) {
        state.withLock { state in
            let outcome = state.outcome
            return (
                state.copies.copy(outcome.response?.headers ?? HTTPHeaders()),
                Self.copy(outcome.failure, &state.copies),
                outcome.file.map {
                    BodyReader.length(of: .file(path: $0.path))
                } ?? UInt64(outcome.body.count)
            )
        }
    }

    /// Reads bytes of the body from an offset on.
    func readBody(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> BodyReader.Part
    {
        let (isSealed, data) = state.withLock { state in
            (state.isSealed, state.outcome.file == nil ? state.outcome.body : nil)
        }
        if isSealed { return .stale }
        if let data { return .bytes(data.copy(from: offset, into: buffer)) }
        return file?.read(at: offset, into: buffer) ?? .bytes(0)
    }

    func failure() -> (code: CopiedBytes, message: CopiedBytes)? {
        state.withLock { state in
            Self.copy(state.outcome.failure, &state.copies)
        }
    }

    private static func copy(
        _ failure: (code: String, message: String)?, _ copies: inout MessageCopies
    ) -> (code: CopiedBytes, message: CopiedBytes)? {
        guard let failure else { return nil }
        return (
            copies.copy(.failureCode, failure.code.utf8),
            copies.copy(.failureMessage, failure.message.utf8)
        )
    }

    /// Returns a value of a header field.
    ///
    /// - Parameters:
    ///   - name: The name; the bytes need not be UTF-8.
    ///   - nth: The index among the fields with this name, from 0.
    /// - Returns: `nil` if there is no such field.
    func header(_ name: UnsafeBufferPointer<UInt8>, _ nth: Int) -> CopiedBytes? {
        state.withLock { state in
            guard let headers = state.outcome.response?.headers,
                let position = headers.position(named: name, nth)
            else { return nil }
            return state.copies.copy(valueAt: position, of: headers)
        }
    }

    func headers() -> CopiedFields {
        state.withLock { $0.copies.copy($0.outcome.response?.headers ?? HTTPHeaders()) }
    }

    func body() -> CopiedBytes {
        state.withLock { $0.copies.copy(.body, $0.outcome.body) }
    }

    /// Replaces the outcome, which later reads of this hook then return.
    ///
    /// - Parameter replacement: The new outcome; a failure keeps the response.
    /// - Returns: `OUTLET_E_STALE` after the hook, `OUTLET_E_STATE` if the hook may not replace it.
    func replace(_ replacement: Replacement) -> outlet_status {
        state.withLock { state in
            guard state.isMutable else {
                return state.isSealed ? OUTLET_E_STALE : OUTLET_E_STATE
            }
            state.replacement = replacement
            state.copies.invalidate()
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

extension ResponseHandle.Outcome {
    /// Converts the outcome of a call into what plugins see.
    init(_ result: CallResult) {
        switch result {
        case .success(let response):
            self.init(
                response: response.head, body: response.body ?? Data(), file: response.file,
                failure: response.failure.map { FailureText.of($0) })
        case .failure(let error):
            self.init(response: nil, body: Data(), failure: FailureText.of(error))
        }
    }
}

import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// A request as one hook of one plugin sees it.
final class RequestHandle: WatchedSubject, SettledSubject {
    /// An answer in place of the network.
    struct Answer: Sendable {
        var status: Int
        var headers: HTTPHeaders
        var body: [UInt8]
    }

    private struct State {
        var request: HTTPRequest
        var answer: Answer?
        var isMutable: Bool
        var isSealed = false
        var scope: RequestScope?
        var index = FieldIndex()
        var arena = ByteArena()

        /// Why no change is accepted.
        var objection: outlet_status { isSealed ? OUTLET_E_STALE : OUTLET_E_STATE }
    }

    private let state: Lock<State>

    /// - Parameters:
    ///   - isMutable: Whether changes and answers are accepted.
    ///   - scope: The call that the request belongs to, if that is known.
    init(_ request: HTTPRequest, isMutable: Bool, scope: RequestScope? = nil) {
        state = Lock(State(request: request, isMutable: isMutable, scope: scope))
    }

    /// The request in a few words, secrets left out.
    var name: String { state.withLock { "\($0.request)" } }

    /// The request as it is now, for the last time: no change is accepted any more, and only what the
    /// plugin has borrowed is kept.
    func seal() -> (request: HTTPRequest, answer: Answer?) {
        state.withLock { state in
            state.isMutable = false
            state.isSealed = true
            defer {
                state.request = HTTPRequest(url: nil)
                state.answer = nil
            }
            return (state.request, state.answer)
        }
    }

    func close() {
        state.withLock { state in
            state.isMutable = false
            state.isSealed = true
        }
    }

    // MARK: The call

    /// A hook of an instance is about to be called with this.
    func enter(_ instance: PluginInstance) {
        guard instance.hooks.request_done != nil else { return }
        let (scope, id) = state.withLock { ($0.scope, $0.request.context.id) }
        if scope?.enter(instance) == true { return }
        // Of a call that is over, or that nobody has told of: one of its own, which ends with this.
        let own = RequestScope(id: id)
        _ = own.enter(instance)
        state.withLock { $0.scope = own }
    }

    /// The hook is off the stack.
    func leave(_ instance: PluginInstance) {
        guard instance.hooks.request_done != nil else { return }
        state.withLock { $0.scope }?.leave(instance)
    }

    /// What an instance keeps for the call; `nil` when it has no part in it.
    func slot(of instance: PluginInstance) -> UInt? {
        state.withLock { $0.scope }?.slot(of: instance)
    }

    /// Keeps a pointer for an instance; `false` when it has no part in the call.
    func set(slot: UInt, of instance: PluginInstance) -> Bool {
        state.withLock { $0.scope }?.set(slot: slot, of: instance) ?? false
    }

    // MARK: Reading

    func method() -> Loan { state.withLock { $0.arena.lend($0.request.method.rawValue) } }

    func url() -> Loan {
        state.withLock { $0.arena.lend($0.request.url?.absoluteString ?? "") }
    }

    func header(_ name: String, _ nth: Int) -> Loan? {
        state.withLock { state in
            let values = state.index.values(of: name, in: state.request.headers)
            guard values.indices.contains(nth) else { return nil }
            return state.arena.lend(values[nth])
        }
    }

    func headers() -> [(name: Loan, value: Loan)] {
        state.withLock { state in
            state.arena.lend(state.request.headers.map { (name: $0.name, value: $0.value) })
        }
    }

    /// `nil` when the body is not in memory.
    func body() -> Loan? {
        state.withLock { state in
            switch state.request.body {
            case .none: state.arena.lend("")
            case .data(let data): state.arena.lend(data)
            case .file, .stream: nil
            }
        }
    }

    func attribute(_ key: String) -> Loan? {
        state.withLock { state in
            state.request.context.attribute(key).map { state.arena.lend($0) }
        }
    }

    // MARK: Changing

    func set(method: String) -> outlet_status {
        change { request in
            request.method = HTTPMethod(rawValue: method)
            return (try? request.checkFields()) != nil
        }
    }

    func set(url: String) -> outlet_status {
        guard let url = URL(string: url), let scheme = url.scheme?.lowercasedASCII,
            scheme == "http" || scheme == "https", (try? Origin(url)) != nil
        else { return OUTLET_E_ARGUMENT }
        return change { request in
            request.url = url
            return true
        }
    }

    func set(header name: String, value: String) -> outlet_status {
        let field = HTTPHeader(name: name, value: value)
        return change(field) { $0.update(field, in: &$1) }
    }

    func add(header name: String, value: String) -> outlet_status {
        let field = HTTPHeader(name: name, value: value)
        return change(field) { $0.append(field, to: &$1) }
    }

    func remove(header name: String) -> outlet_status {
        state.withLock { state in
            guard state.isMutable else { return state.objection }
            state.index.remove(name, from: &state.request.headers)
            return OUTLET_OK
        }
    }

    func set(body: [UInt8]) -> outlet_status {
        change { request in
            request.body = .data(Data(body))
            return true
        }
    }

    func set(attribute key: String, value: String) -> outlet_status {
        for reserved in ["target.", "request.", "outlet."] where key.startsWithBytes(of: reserved) {
            return OUTLET_E_DENIED
        }
        return change { request in
            request.context.notes[key] = value
            return !key.isEmpty
        }
    }

    func answer(_ answer: Answer) -> outlet_status {
        state.withLock { state in
            guard state.isMutable else { return state.objection }
            state.answer = answer
            return OUTLET_OK
        }
    }

    /// Changes the fields by one that HTTP can carry; others need a look at the whole request.
    private func change(
        _ field: HTTPHeader, _ body: (inout FieldIndex, inout HTTPHeaders) -> Void
    ) -> outlet_status {
        guard field.isWellFormed else {
            return change { request in
                var index = FieldIndex()
                body(&index, &request.headers)
                return (try? request.checkFields()) != nil
            }
        }
        return state.withLock { state in
            guard state.isMutable else { return state.objection }
            guard state.request.headers.count < OUTLET_MAX_FIELDS else {
                // Only a change that adds none.
                var (index, headers) = (FieldIndex(), state.request.headers)
                body(&index, &headers)
                guard headers.count <= state.request.headers.count else { return OUTLET_E_ARGUMENT }
                state.request.headers = headers
                state.index.forget()
                return OUTLET_OK
            }
            body(&state.index, &state.request.headers)
            return OUTLET_OK
        }
    }

    /// Keeps a change if it was accepted.
    private func change(_ body: (inout HTTPRequest) -> Bool) -> outlet_status {
        state.withLock { state in
            guard state.isMutable else { return state.objection }
            var request = state.request
            guard body(&request) else { return OUTLET_E_ARGUMENT }
            state.request = request
            state.index.forget()
            return OUTLET_OK
        }
    }
}

extension RequestHandle.Answer {
    /// An answer as a plugin passed it; `nil` when HTTP cannot carry it.
    init?(
        status: Int32, fields: UnsafePointer<outlet_field>?, count: UInt64, body: outlet_view
    ) {
        guard 200...599 ~= status, let bytes = body.foreign(.body),
            count <= UInt64(OUTLET_MAX_FIELDS),
            count == 0 || fields != nil
        else { return nil }
        var headers = HTTPHeaders()
        for index in 0..<Int(count) {
            guard let name = fields?[index].name.text(.name),
                let value = fields?[index].value.text(.value)
            else { return nil }
            headers.append(name: name, value: value)
        }
        guard (try? headers.checkSyntax()) != nil else {
            return nil
        }
        self.init(status: Int(status), headers: headers, body: Array(bytes))
    }
}

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

    /// What a hook may change.
    enum Access: Sendable {
        /// Nothing.
        case read
        /// The fields, but for those that say how the request is sent.
        case fields
        /// All of it.
        case request
        /// All of it; and it may be answered.
        case answer
        /// Nothing any more.
        case sealed
    }

    private struct State: ~Copyable {
        var request: HTTPRequest
        var answer: Answer?
        var access: Access
        /// Whether nothing could be changed from the beginning.
        let isReadOnly: Bool
        /// The call of the request; set on first use.
        var scope: RequestScope?
        /// Reads the body; made on first use.
        var reader: BodyReader?
        /// What the transport adds, where plugins are to see that.
        var wire: WireFields?
        var index = FieldIndex()
        var copies = MessageCopies()

        /// Adds what the transport adds, before fields are looked at or changed.
        mutating func showWire() {
            guard wire != nil else { return }
            wire?.show(in: &request)
        }

        /// Why no change is accepted; `nil` where it is.
        ///
        /// - Parameter field: The field that is changed; `nil` for anything else.
        func objection(changing field: String? = nil) -> outlet_status? {
            switch access {
            case .sealed: return OUTLET_E_STALE
            case .read: return OUTLET_E_STATE
            case .fields:
                guard let field else { return OUTLET_E_STATE }
                return WireFields.isProtected(field) ? OUTLET_E_DENIED : nil
            // How long the body is, the host says.
            case .request, .answer:
                return field?.equalsIgnoringCase("Content-Length") == true ? OUTLET_E_DENIED : nil
            }
        }
    }

    private let state: Lock<State>
    private static let none = HTTPRequest(url: nil)

    /// - Parameters:
    ///   - access: The changes that are accepted.
    ///   - scope: The call that the request belongs to, if it is not the one of its context.
    ///   - wire: What the transport adds to the fields, where the plugin is to see that.
    init(
        _ request: HTTPRequest, access: Access = .read, scope: RequestScope? = nil,
        wire: WireFields? = nil
    ) {
        state = Lock(
            State(
                request: request, access: access, isReadOnly: access == .read, scope: scope,
                wire: wire))
    }

    /// The instances that the request passes by.
    var excluded: Set<ObjectIdentifier>? {
        state.withLock { $0.request.excludedPlugins }
    }

    /// The request in a few words, secrets left out.
    var name: String { state.withLock { "\($0.request)" } }

    /// The request as it is now, for the last time: no change is accepted any more, and only what the
    /// plugin has read is kept.
    func seal() -> (request: HTTPRequest, answer: Answer?) {
        state.withLock { state in
            state.access = .sealed
            defer {
                state.request = Self.none
                state.answer = nil
            }
            state.wire?.hide(in: &state.request)
            return (state.request, state.answer)
        }
    }

    func close() {
        state.withLock { $0.access = .sealed }
    }

    /// Takes a stream that the plugin has read back to its start.
    ///
    /// - Throws: The stream's error: the request cannot be sent any more.
    func rewindBody() throws { try state.withLock { $0.reader }?.rewind() }

    // MARK: The call

    private var scope: RequestScope? {
        state.withLock { state in
            if state.scope == nil, state.request.hasContext {
                state.scope = state.request.context[RequestScope.Key.self]
            }
            return state.scope
        }
    }

    /// The session of the call, as far as that is known.
    var session: Session? { scope?.session }

    /// A hook of an instance is about to be called with this; `false` where the call is over.
    func enter(_ instance: PluginInstance, for hook: PluginHook) -> Bool {
        guard instance.hooks.request_done != nil else { return true }
        if let scope { return scope.enter(instance, for: hook) }
        // A request outside of a known call gets a call of its own, which ends with this object.
        let own = RequestScope(id: state.withLock { $0.request.context.id })
        state.withLock { $0.scope = own }
        return own.enter(instance, for: hook)
    }

    /// The hook is off the stack.
    func leave(_ instance: PluginInstance) {
        guard instance.hooks.request_done != nil else { return }
        scope?.leave(instance)
    }

    /// The pointer that an instance keeps for the call; `nil` if it has no part in it.
    func slot(of instance: PluginInstance) -> UInt? {
        scope?.slot(of: instance)
    }

    /// Keeps a pointer for an instance; `false` when it has no part in the call.
    func set(slot: UInt, of instance: PluginInstance) -> Bool {
        scope?.set(slot: slot, of: instance) ?? false
    }

    // MARK: Reading

    func method() -> CopiedBytes {
        state.withLock { $0.copies.copy(.method, $0.request.method.rawValue.utf8) }
    }

    func url() -> CopiedBytes {
        state.withLock { $0.copies.copy(.url, ($0.request.url?.absoluteString ?? "").utf8) }
    }

    /// The nth value of a field, from 0; `name` is any bytes.
    func header(_ name: UnsafeBufferPointer<UInt8>, _ nth: Int) -> CopiedBytes? {
        state.withLock { state in
            state.showWire()
            guard let field = state.index.field(named: name, nth, in: state.request.headers) else {
                return nil
            }
            return state.copies.copy(valueAt: field.position, field.value)
        }
    }

    func headers() -> CopiedFields {
        state.withLock { state in
            state.showWire()
            return state.copies.copy(state.request.headers)
        }
    }

    /// Method, address, fields, and how long the body is.
    func snapshot() -> (
        method: CopiedBytes, url: CopiedBytes, fields: CopiedFields, length: UInt64?
    ) {
        state.withLock { state in
            state.showWire()
            let request = state.request
            return (
                state.copies.copy(.method, request.method.rawValue.utf8),
                state.copies.copy(.url, (request.url?.absoluteString ?? "").utf8),
                state.copies.copy(request.headers), BodyReader.length(of: request.body)
            )
        }
    }

    /// Reads a part of the body.
    func readBody(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> BodyReader.Part
    {
        let (data, reader) = state.withLock { state -> (Data?, BodyReader?) in
            // One that a plugin has set is in memory, whatever it was.
            if case .data(let data) = state.request.body { return (data, nil) }
            if state.access == .sealed { return (nil, nil) }
            // A stream is being sent where nothing may be changed any more.
            let reader =
                state.reader
                ?? BodyReader(state.request.body, mayReadStream: !state.isReadOnly)
            state.reader = reader
            return (nil, reader)
        }
        if let data { return .bytes(data.copy(from: offset, into: buffer)) }
        return reader?.read(at: offset, into: buffer) ?? .stale
    }

    /// `nil` when the body is not in memory.
    func bodyCopy() -> CopiedBytes? {
        state.withLock { state in
            switch state.request.body {
            case .none: state.copies.copy(.body, [])
            case .data(let data): state.copies.copy(.body, data)
            case .file, .stream: nil
            }
        }
    }

    func attribute(_ key: String) -> CopiedBytes? {
        state.withLock { state in
            state.request.context.attribute(key).map { state.copies.copy(.attribute(key), $0.utf8) }
        }
    }

    // MARK: Changing

    func set(method: String) -> outlet_status {
        change { request in
            request.method = HTTPMethod(rawValue: method)
            // A tunnel is the transport's to ask for.
            return request.method != .connect && (try? request.checkFields()) != nil
        }
    }

    func set(url: String) -> outlet_status {
        guard !url.utf8.contains(where: \.isControl), let url = URL(string: url),
            let scheme = url.scheme?.lowercasedASCII,
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
            if let objection = state.objection(changing: name) { return objection }
            state.showWire()
            state.copies.forgetFields()
            state.index.remove(name, from: &state.request.headers)
            return OUTLET_OK
        }
    }

    func set(body: [UInt8]) -> outlet_status {
        change { request in
            request.body = .data(Data(body))
            request.headers.remove(name: "Content-Length")
            return true
        }
    }

    func set(attribute key: String, value: String) -> outlet_status {
        for reserved in ["target.", "request.", "outlet."] where key.startsWithBytes(of: reserved) {
            return OUTLET_E_DENIED
        }
        return change(field: "") { request in
            request.context.notes[key] = value
            return !key.isEmpty
        }
    }

    /// Attaches a stream of the call.
    ///
    /// - Parameters:
    ///   - open: Opens it, given what it belongs to; `nil` where there may be no more.
    ///   - attach: Adds it to the request.
    func attach(
        replacesBody: Bool, open: (String) -> PluginStream?,
        to attach: (inout HTTPRequest, PluginStream) -> Void
    ) -> outlet_status {
        let scope = scope
        return state.withLock { state in
            if let objection = state.objection(changing: replacesBody ? nil : "") {
                return objection
            }
            guard let stream = open("\(state.request)") else { return OUTLET_E_STATE }
            if replacesBody { state.copies.forget() }
            attach(&state.request, stream)
            scope?.keep(stream)
            return OUTLET_OK
        }
    }

    func answer(_ answer: Answer) -> outlet_status {
        state.withLock { state in
            switch state.access {
            case .sealed: return OUTLET_E_STALE
            case .answer: break
            default: return OUTLET_E_STATE
            }
            state.answer = answer
            return OUTLET_OK
        }
    }

    /// Changes the fields by one that HTTP can carry; others need a look at the whole request.
    private func change(
        _ field: HTTPHeader, _ body: (inout FieldIndex, inout HTTPHeaders) -> Void
    ) -> outlet_status {
        guard field.isWellFormed else {
            return change(field: field.name) { request in
                var index = FieldIndex()
                body(&index, &request.headers)
                return (try? request.checkFields()) != nil
            }
        }
        return state.withLock { state in
            if let objection = state.objection(changing: field.name) { return objection }
            state.showWire()
            state.copies.forgetFields()
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
    ///
    /// - Parameter field: The field that is changed; `nil` for anything else.
    private func change(
        field: String? = nil, _ body: (inout HTTPRequest) -> Bool
    ) -> outlet_status {
        state.withLock { state in
            if let objection = state.objection(changing: field) { return objection }
            state.showWire()
            var request = state.request
            guard body(&request) else { return OUTLET_E_ARGUMENT }
            state.request = request
            state.index.forget()
            state.copies.forget()
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
            // These have none (RFC 9110 §15.3.5, §15.4.5).
            bytes.isEmpty || status != 204 && status != 304,
            let headers = HTTPHeaders(fields, count)
        else { return nil }
        self.init(status: Int(status), headers: headers, body: Array(bytes))
    }
}

extension HTTPHeaders {
    /// Fields as a plugin passed them; `nil` when there are too many, or HTTP cannot carry them.
    init?(_ fields: UnsafePointer<outlet_field>?, _ count: UInt64) {
        guard count <= UInt64(OUTLET_MAX_FIELDS), count == 0 || fields != nil else { return nil }
        self.init()
        for index in 0..<Int(count) {
            guard let name = fields?[index].name.text(.name),
                let value = fields?[index].value.text(.value)
            else { return nil }
            append(name: name, value: value)
        }
        guard (try? checkSyntax()) != nil else { return nil }
    }
}

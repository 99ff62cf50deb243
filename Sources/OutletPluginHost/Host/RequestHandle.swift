import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// A request as one hook of one plugin sees it.
///
/// Thread: any.
final class RequestHandle: WatchedSubject, SettledSubject {
    /// A response that a plugin supplies instead of the network.
    struct Answer: Sendable {
        var status: Int
        var headers: HTTPHeaders
        var body: [UInt8]
    }

    /// What a hook may change.
    enum Access: Sendable {
        /// Nothing.
        case read
        /// The header fields, except `Host` and `Content-Length`, and the notes; the hook may also
        /// watch the bodies of responses.
        case fields
        /// The whole request.
        case request
        /// The whole request; the hook may also supply the response.
        case answer
        /// Nothing, because the hook is over.
        case sealed
    }

    private struct State: ~Copyable {
        var request: HTTPRequest
        var answer: Answer?
        var access: Access
        /// Whether the handle was created read-only.
        let isReadOnly: Bool
        /// The call of the request; set on first use.
        var scope: RequestScope?
        /// Reads the body; made on first use.
        var reader: BodyReader?
        /// The header fields that the transport adds; `nil` if plugins do not see them.
        var wire: WireFields?
        var index = FieldIndex()
        var copies = MessageCopies()

        /// Adds the transport's header fields before fields are read or changed.
        mutating func showWire() {
            guard wire != nil else { return }
            wire?.show(in: &request)
        }

        /// Checks whether a change is allowed.
        ///
        /// - Parameter field: The name of the changed header field, empty for a note or the like;
        ///   `nil` for the method, the URL or the body.
        /// - Returns: The status that rejects the change; `nil` if it is allowed.
        func objection(changing field: String? = nil) -> outlet_status? {
            switch access {
            case .sealed: return OUTLET_E_STALE
            case .read: return OUTLET_E_STATE
            case .fields:
                guard let field else { return OUTLET_E_STATE }
                return WireFields.isProtected(field) ? OUTLET_E_DENIED : nil
            // The host sets Content-Length from the body.
            case .request, .answer:
                return field?.equalsIgnoringCase("Content-Length") == true ? OUTLET_E_DENIED : nil
            }
        }
    }

    private let state: Lock<State>
    private static let none = HTTPRequest(url: nil)

    /// Creates a handle.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - access: The changes that are allowed.
    ///   - scope: The call that the request belongs to; `nil` for the one in its context.
    ///   - wire: The header fields that the transport adds; `nil` if the plugin does not see them.
    init(
        _ request: HTTPRequest, access: Access = .read, scope: RequestScope? = nil,
        wire: WireFields? = nil
    ) {
        state = Lock(
            State(
                request: request, access: access, isReadOnly: access == .read, scope: scope,
                wire: wire))
    }

    /// The plugin instances whose hooks are skipped for the request; `nil` for none.
    var excluded: Set<ObjectIdentifier>? {
        state.withLock { $0.request.excludedPlugins }
    }

    /// A short description of the request without secrets.
    var name: String { state.withLock { "\($0.request)" } }

    /// Ends the hook's access and returns the changed request.
    ///
    /// Further changes fail with `OUTLET_E_STALE`. Only the copies that the plugin has read are
    /// kept; a second call returns an empty request.
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

    /// Rewinds the body's stream if the plugin has read it.
    ///
    /// - Throws: The stream's error; the request can then no longer be sent.
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

    /// The session of the call; `nil` if it is not known or no longer exists.
    var session: Session? { scope?.session }

    func enter(_ instance: PluginInstance, for hook: PluginHook) -> Bool {
        guard instance.hooks.request_done != nil else { return true }
        if let scope { return scope.enter(instance, for: hook) }
        // A request that belongs to no known call gets its own, which ends with this object.
        let own = RequestScope(id: state.withLock { $0.request.context.id })
        state.withLock { $0.scope = own }
        return own.enter(instance, for: hook)
    }

    func leave(_ instance: PluginInstance) {
        guard instance.hooks.request_done != nil else { return }
        scope?.leave(instance)
    }

    /// Returns the pointer that an instance has stored for the call.
    ///
    /// - Parameter instance: The instance.
    /// - Returns: `nil` if no hook of the instance was called for it, or the instance has no
    ///   `request_done`.
    func slot(of instance: PluginInstance) -> UInt? {
        scope?.slot(of: instance)
    }

    /// Stores a pointer of an instance for the call.
    ///
    /// - Parameters:
    ///   - slot: The pointer's bits.
    ///   - instance: The instance.
    /// - Returns: `false` in the cases where ``slot(of:)`` returns `nil`.
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

    /// Returns a value of a header field.
    ///
    /// - Parameters:
    ///   - name: The name; the bytes need not be UTF-8.
    ///   - nth: The index among the fields with this name, from 0.
    /// - Returns: `nil` if there is no such field.
    func header(_ name: UnsafeBufferPointer<UInt8>, _ nth: Int) -> CopiedBytes? {
        state.withLock { state in
            state.showWire()
            let headers = state.request.headers
            return state.index.position(of: name, nth, in: headers).map {
                state.copies.copy(valueAt: $0, of: headers)
            }
        }
    }

    func headers() -> CopiedFields {
        state.withLock { state in
            state.showWire()
            return state.copies.copy(state.request.headers)
        }
    }

    /// Returns the method, the URL, the header fields, and the body's length in bytes if it is
    /// known.
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

    /// Reads bytes of the body from an offset on.
    func readBody(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> BodyReader.Part
    {
        let (data, reader) = state.withLock { state -> (Data?, BodyReader?) in
            // A body in memory needs no reader; it may have replaced a stream that has one.
            if case .data(let data) = state.request.body { return (data, nil) }
            if state.access == .sealed { return (nil, nil) }
            // A read-only handle must not read a stream, because the transport may be reading it.
            let reader =
                state.reader
                ?? BodyReader(state.request.body, mayReadStream: !state.isReadOnly)
            state.reader = reader
            return (nil, reader)
        }
        if let data { return .bytes(data.copy(from: offset, into: buffer)) }
        return reader?.read(at: offset, into: buffer) ?? .stale
    }

    /// Returns a copy of the body; `nil` if the body is not in memory.
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
            // Only the transport sends CONNECT, to open a tunnel through a proxy.
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

    func set(_ field: HTTPHeader) -> outlet_status {
        change(field) { $0.update(field, in: &$1) }
    }

    func add(_ field: HTTPHeader) -> outlet_status {
        change(field) { $0.append(field, to: &$1) }
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

    /// Opens a stream and attaches it to the request.
    ///
    /// - Parameters:
    ///   - replacesBody: Whether the stream makes the request's body, or otherwise watches the
    ///     bodies of responses.
    ///   - open: Opens the stream; receives a description of the request. Returns `nil` if the
    ///     plugin has too many open streams or is shutting down.
    ///   - attach: Adds the stream to the request.
    /// - Returns: `OUTLET_E_STATE` if the stream cannot be opened, or the status that rejects the
    ///   change.
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
            if replacesBody { state.copies.invalidate() }
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

    /// Sets or adds a header field.
    ///
    /// A field that is not well-formed is checked together with the whole request, which is slower.
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
                // The maximum is reached: accept only a change that adds no field.
                var (index, headers) = (FieldIndex(), state.request.headers)
                body(&index, &headers)
                guard headers.count <= state.request.headers.count else { return OUTLET_E_ARGUMENT }
                state.request.headers = headers
                state.index.invalidate()
                return OUTLET_OK
            }
            body(&state.index, &state.request.headers)
            return OUTLET_OK
        }
    }

    /// Applies a change to a copy of the request, and keeps it if it is valid.
    ///
    /// - Parameters:
    ///   - field: The name of the changed header field, empty for a note; `nil` for anything else.
    ///   - body: Makes the change; returns whether the result is valid.
    private func change(
        field: String? = nil, _ body: (inout HTTPRequest) -> Bool
    ) -> outlet_status {
        state.withLock { state in
            if let objection = state.objection(changing: field) { return objection }
            state.showWire()
            var request = state.request
            guard body(&request) else { return OUTLET_E_ARGUMENT }
            state.request = request
            state.index.invalidate()
            state.copies.invalidate()
            return OUTLET_OK
        }
    }
}

extension RequestHandle.Answer {
    /// Copies and checks a response that a plugin supplies.
    ///
    /// - Parameters:
    ///   - status: The status code, from 200 to 599.
    ///   - fields: The header fields; may be `nil` if there are none.
    ///   - count: The number of fields.
    ///   - body: The body; it must be empty for 204 and 304.
    /// - Returns: `nil` if a part is not valid in HTTP, or too large.
    init?(
        status: Int32, fields: UnsafePointer<outlet_field>?, count: UInt64, body: outlet_view
    ) {
        guard 200...599 ~= status, let bytes = body.foreign(.body),
            // 204 and 304 have no body (RFC 9110 §15.3.5, §15.4.5).
            bytes.isEmpty || status != 204 && status != 304,
            let headers = HTTPHeaders(fields, count)
        else { return nil }
        self.init(status: Int(status), headers: headers, body: Array(bytes))
    }
}

extension HTTPHeader {
    /// Copies a header field of a plugin; the bytes of the value need not be UTF-8.
    ///
    /// - Returns: `nil` if the name is not UTF-8, or one of the two is too long.
    init?(_ name: outlet_view, _ value: outlet_view) {
        guard let name = name.text(.name), let bytes = value.foreign(.value) else { return nil }
        self.init(name: name, valueBytes: bytes)
    }
}

extension HTTPHeaders {
    /// Copies and checks header fields of a plugin.
    ///
    /// - Parameters:
    ///   - fields: The fields; may be `nil` if there are none.
    ///   - count: The number of fields.
    /// - Returns: `nil` if there are too many, or a name or value is too long or not valid in HTTP.
    init?(_ fields: UnsafePointer<outlet_field>?, _ count: UInt64) {
        guard count <= UInt64(OUTLET_MAX_FIELDS), count == 0 || fields != nil else { return nil }
        self.init()
        for index in 0..<Int(count) {
            guard let field = fields?[index], let header = HTTPHeader(field.name, field.value)
            else { return nil }
            append(header)
        }
        guard (try? checkSyntax()) != nil else { return nil }
    }
}

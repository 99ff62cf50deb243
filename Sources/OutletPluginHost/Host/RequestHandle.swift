import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// A request as one hook of one plugin sees it.
///
/// Thread: any.
final class RequestHandle: SettledSubject {
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

    /// The notes of a request, with limits on their number and size.
    private struct Notes {
        private(set) var texts: [String: String]
        /// The bytes of all names and values.
        private var size: Int

        init(_ texts: [String: String]) {
            self.texts = texts
            size = texts.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        }

        /// Sets a note; returns `false` and changes nothing if there would be too many or too large
        /// ones.
        mutating func set(_ key: String, _ value: String) -> Bool {
            let old = texts[key]
            let growth = value.utf8.count - (old.map(\.utf8.count) ?? -key.utf8.count)
            guard old != nil || texts.count < Int(OUTLET_MAX_ATTRIBUTES),
                size + growth <= Int(OUTLET_MAX_ATTRIBUTE_BYTES)
            else { return false }
            texts[key] = value
            size += growth
            return true
        }
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
        /// The header fields; made on first use, and from then on in place of the request's.
        var fields = FieldTable()
        /// The notes; made when a plugin sets one, and from then on in place of the request's.
        var notes: Notes?
        var copies = MessageCopies()

        /// Makes the table of fields, with those of the transport, before it is used.
        @inline(__always)
        mutating func loadFields() {
            if !fields.isLoaded { makeFields() }
        }

        @inline(never)
        private mutating func makeFields() {
            wire?.show(in: &request)
            fields.load(request.headers)
        }

        /// Discards what described the former body.
        mutating func bodyWasReplaced() {
            loadFields()
            fields.remove("Content-Length")
            copies.invalidate()
            request.allowsBodyInGET = true
        }

        /// The request with the changes made to its fields.
        var changed: HTTPRequest {
            var changed = request
            if fields.isChanged { changed.headers = fields.changes(to: request.headers) }
            if let notes { changed.context.notes = notes.texts }
            return changed
        }

        /// Checks whether a change is allowed.
        ///
        /// - Parameter part: The changed part.
        /// - Returns: The status that rejects the change; `nil` if it is allowed.
        func objection(changing part: Part) -> outlet_status? {
            switch access {
            case .sealed: return OUTLET_E_STALE
            case .read: return OUTLET_E_STATE
            case .fields:
                switch part {
                case .head: return OUTLET_E_STATE
                case .note: return nil
                case .field(let name):
                    return WireFields.isProtected(name) ? OUTLET_E_DENIED : nil
                }
            // The host sets Content-Length from the body.
            case .request, .answer:
                guard case .field(let name) = part else { return nil }
                return name.equalsIgnoringCase("Content-Length") ? OUTLET_E_DENIED : nil
            }
        }
    }

    /// A part of a request that a plugin changes.
    private enum Part {
        /// The method, the URL or the body.
        case head
        /// The header field with a name.
        case field(UnsafeBufferPointer<UInt8>)
        /// A note, or what else belongs to the call and is not sent.
        case note
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

    /// Ends the hook's access and returns the changed request.
    ///
    /// Further changes fail with `OUTLET_E_STALE`. Only the copies that the plugin has read are
    /// kept; a second call returns an empty request.
    func seal() -> (request: HTTPRequest, answer: Answer?) {
        state.withLock { state in
            state.access = .sealed
            // For the body's reader, which may outlive the request.
            if state.reader != nil, state.scope == nil { state.scope = state.request.scope }
            defer {
                state.request = Self.none
                state.fields.close()
                state.notes = nil
                state.answer = nil
            }
            var changed = state.changed
            state.wire?.hide(in: &changed)
            return (changed, state.answer)
        }
    }

    func close() {
        state.withLock { $0.access = .sealed }
    }

    /// Rewinds the body's stream if the plugin has read it.
    ///
    /// - Parameter failure: Makes the error of the plugin from that of the stream.
    /// - Throws: The error; the request can then no longer be sent, and neither can further attempts:
    ///   see ``RequestScope/rewindBody(of:)``.
    func rewindBody(
        orThrow failure: (_ cause: any Error) -> PluginError
    ) throws(PluginError) {
        guard let reader = state.withLock({ $0.reader }) else { return }
        do {
            try reader.rewind()
        } catch {
            let failure = failure(error)
            scope?.note(unread: reader, failure)
            throw failure
        }
    }

    // MARK: The call

    private var scope: RequestScope? {
        state.withLock { state in
            if state.scope == nil { state.scope = state.request.scope }
            return state.scope
        }
    }

    /// The call of the request.
    var origin: CallOrigin {
        let scope = scope
        return CallOrigin(
            session: { [weak scope] in scope?.session },
            excluded: state.withLock { $0.request.excludedPlugins })
    }

    /// Adds a hook that is about to be called to the running hooks of the call.
    ///
    /// - Parameters:
    ///   - instance: An instance with a `request_done` hook.
    ///   - hook: The hook.
    /// - Returns: `false` where it is too late for the hook.
    func enter(_ instance: PluginInstance, for hook: PluginHook) -> Bool {
        if let scope { return scope.enter(instance, for: hook) }
        // A request that belongs to no known call gets its own, which ends with this object.
        let own = RequestScope(id: state.withLock { $0.request.context.id })
        state.withLock { $0.scope = own }
        return own.enter(instance, for: hook)
    }

    /// Removes a hook that has returned from the running hooks of the call.
    func leave(_ instance: PluginInstance, wasCalled: Bool) {
        scope?.leave(instance, wasCalled: wasCalled)
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
            state.loadFields()
            return state.fields.value(of: name, nth)
        }
    }

    func headers() -> CopiedFields {
        state.withLock { state in
            state.loadFields()
            return state.fields.all()
        }
    }

    /// Returns the method, the URL, the header fields, and the body's length in bytes if it is
    /// known.
    func snapshot() -> (
        method: CopiedBytes, url: CopiedBytes, fields: CopiedFields, length: UInt64?
    ) {
        let (method, url, fields, body) = state.withLock { state in
            state.loadFields()
            let request = state.request
            return (
                state.copies.copy(.method, request.method.rawValue.utf8),
                state.copies.copy(.url, (request.url?.absoluteString ?? "").utf8),
                state.fields.all(), request.body
            )
        }
        // Without the lock: a file system may take long to answer.
        return (method, url, fields, BodyReader.length(of: body))
    }

    /// Reads bytes of the body from an offset on.
    ///
    /// - Parameters:
    ///   - offset: The number of bytes before.
    ///   - buffer: Receives the bytes.
    ///   - runningProgram: Called with the code that reads a stream.
    func readBody(
        at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer,
        runningProgram: (() -> BodyReader.Part) -> BodyReader.Part
    ) -> BodyReader.Part {
        let (data, reader) = state.withLock { state -> (Data?, BodyReader?) in
            // A body in memory needs no reader; it may have replaced a stream that has one.
            if case .data(let data) = state.request.body { return (data, nil) }
            if state.access == .sealed { return (nil, nil) }
            // A read-only handle must not read a stream, because the transport may be reading it.
            let reader =
                state.reader
                ?? BodyReader(
                    state.request.body, mayReadStream: !state.isReadOnly,
                    wasSent: state.request.mayHaveBeenSent)
            state.reader = reader
            return (nil, reader)
        }
        if let data { return .bytes(data.copy(from: offset, into: buffer)) }
        return reader?.read(at: offset, into: buffer, runningProgram: runningProgram) ?? .stale
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
            let text = state.notes?.texts[key] ?? state.request.context.attribute(key)
            return text.map { state.copies.copy(.attribute(key), $0.utf8) }
        }
    }

    // MARK: Changing

    func set(method: String) -> outlet_status {
        let method = HTTPMethod(rawValue: method)
        return change(.head) { request in
            // Only the transport sends CONNECT, to open a tunnel through a proxy.
            guard method != .connect, isToken(method.rawValue) else { return false }
            request.method = method
            return true
        }
    }

    func set(url: String) -> outlet_status {
        guard let url = URL(ofPlugin: url) else { return OUTLET_E_ARGUMENT }
        return change(.head) { request in
            request.url = url
            return true
        }
    }

    /// Sets or adds a header field.
    ///
    /// The bytes are checked where the plugin has them: a copy for that would cost a quarter of the
    /// call. If another thread of the plugin changes them meanwhile, the request is refused when the
    /// hook is over. A name that the table already has was checked before.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    ///   - keepsOthers: Whether to add the field; otherwise it replaces others with its name.
    func write(
        header name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>,
        keepsOthers: Bool
    ) -> outlet_status {
        // Before the lock, as in ``outlet_view/read(_:)``.
        let isValue = isFieldValue(value)
        return state.withLock { state in
            if let objection = state.objection(changing: .field(name)) { return objection }
            state.loadFields()
            guard isValue else { return OUTLET_E_ARGUMENT }
            let place = state.fields.first(named: name)
            if place?.isOrdinary != true {
                guard isToken(name) else { return OUTLET_E_ARGUMENT }
                if isFramingName(name) {
                    // Such fields are valid together with the whole request only.
                    var request = state.changed
                    let field = HTTPHeader(
                        name: String(decoding: name, as: UTF8.self), valueBytes: value)
                    keepsOthers ? request.headers.append(field) : request.headers.update(field)
                    guard (try? request.checkFields()) != nil else { return OUTLET_E_ARGUMENT }
                }
            }
            if let place, !keepsOthers {
                state.fields.replace(place, with: name, value)
            } else {
                guard state.fields.count < OUTLET_MAX_FIELDS else { return OUTLET_E_ARGUMENT }
                state.fields.append(name, value)
            }
            return OUTLET_OK
        }
    }

    /// Removes all header fields with a name.
    func remove(header name: UnsafeBufferPointer<UInt8>) -> outlet_status {
        state.withLock { state in
            if let objection = state.objection(changing: .field(name)) { return objection }
            state.loadFields()
            state.fields.remove(name)
            return OUTLET_OK
        }
    }

    func set(body: [UInt8]) -> outlet_status {
        state.withLock { state in
            if let objection = state.objection(changing: .head) { return objection }
            state.request.body = .data(Data(body))
            state.bodyWasReplaced()
            return OUTLET_OK
        }
    }

    func set(attribute key: String, value: String) -> outlet_status {
        for reserved in ["target.", "request.", "outlet."] where key.startsWithBytes(of: reserved) {
            return OUTLET_E_DENIED
        }
        return state.withLock { state in
            if let objection = state.objection(changing: .note) { return objection }
            guard !key.isEmpty else { return OUTLET_E_ARGUMENT }
            // Taken out meanwhile, so that the notes are not copied.
            var notes = state.notes.take() ?? Notes(state.request.context.notes)
            defer { state.notes = notes }
            guard notes.set(key, value) else { return OUTLET_E_ARGUMENT }
            state.copies.invalidate()
            return OUTLET_OK
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
        var opened: PluginStream?
        let status = state.withLock { state in
            if let objection = state.objection(changing: replacesBody ? .head : .note) {
                return objection
            }
            guard let stream = open("\(state.request)") else { return OUTLET_E_STATE }
            attach(&state.request, stream)
            if replacesBody { state.bodyWasReplaced() }
            opened = stream
            return OUTLET_OK
        }
        // Without the lock, because it ends the stream if the call is over.
        if let opened { scope?.keep(opened) }
        return status
    }

    func answer(_ answer: Answer) -> outlet_status {
        state.withLock { state in
            switch state.access {
            case .sealed: return OUTLET_E_STALE
            case .answer: break
            default: return OUTLET_E_STATE
            }
            // A response to HEAD has no body (RFC 9110 §9.3.2).
            guard state.request.method != .head || answer.body.isEmpty else {
                return OUTLET_E_ARGUMENT
            }
            state.answer = answer
            return OUTLET_OK
        }
    }

    /// Changes a part other than the header fields.
    ///
    /// - Parameters:
    ///   - part: The part.
    ///   - body: Makes the change; returns `false` and changes nothing if it is not valid.
    private func change(_ part: Part, _ body: (inout HTTPRequest) -> Bool) -> outlet_status {
        state.withLock { state in
            if let objection = state.objection(changing: part) { return objection }
            guard body(&state.request) else { return OUTLET_E_ARGUMENT }
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
            let headers = HTTPHeaders(fields, count)?.fitting(bodyOf: bytes.count)
        else { return nil }
        self.init(status: Int(status), headers: headers, body: Array(bytes))
    }
}

extension URL {
    /// Parses the URL of a request that a plugin passes; `nil` unless it is an absolute http or https
    /// URL without control characters.
    init?(ofPlugin text: String) {
        guard !text.utf8.contains(where: \.isControl), let url = URL(escaping: text),
            let scheme = url.scheme?.lowercasedASCII,
            scheme == "http" || scheme == "https", (try? Origin(url)) != nil
        else { return nil }
        self = url
    }
}

extension HTTPHeader {
    /// Copies a header field of a plugin; the bytes of the value need not be UTF-8.
    ///
    /// - Returns: `nil` if the name is not UTF-8, or one of the two is too long.
    init?(_ name: outlet_view, _ value: outlet_view) {
        guard let name = name.text(.name),
            let header = value.withCopy(.value, { HTTPHeader(name: name, valueBytes: $0) })
        else { return nil }
        self = header
    }
}

extension HTTPHeaders {
    /// Returns the fields of a message with a body of `count` bytes.
    ///
    /// `Content-Length` is the length of the body, unless that is empty, as in an answer to HEAD.
    /// Other fields of the transport are left out, such as those of a response that a plugin copies.
    fileprivate func fitting(bodyOf count: Int) -> HTTPHeaders {
        guard !isWellFormed else { return self }
        var fields = HTTPHeaders()
        for field in self {
            guard field.isFraming else {
                fields.append(field)
                continue
            }
            let isLength = field.name.equalsIgnoringCase("Content-Length")
            guard isLength, fields["Content-Length"] == nil else { continue }
            let isKept = count == 0 && field.value.decimal(Int64.self) != nil
            fields.append(isKept ? field : HTTPHeader(name: field.name, value: "\(count)"))
        }
        return fields
    }

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

extension HTTPRequest {
    /// Whether an earlier attempt or hop may have sent the body.
    fileprivate var mayHaveBeenSent: Bool { isRedirected || hasContext && context.attempt > 1 }
}

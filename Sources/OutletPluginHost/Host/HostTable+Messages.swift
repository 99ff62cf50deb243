import COutletPlugin
import OutletHTTP

/// The host functions that read and change requests and responses.
extension HostTable {
    static func read(
        _ host: Table, _ request: outlet_request, _ out: UnsafeMutablePointer<outlet_view>,
        _ body: (RequestHandle) -> CopiedBytes
    ) -> outlet_status {
        with(host, request) { request in
            store(body(request).view, at: out)
        }
    }

    /// Returns a text that a plugin passes; `nil` if it cannot be read.
    ///
    /// - Parameters:
    ///   - host: The table of the calling plugin.
    ///   - view: The text.
    ///   - limit: The maximum length.
    ///   - name: What the text is, for the log.
    ///   - change: What the plugin called, for the log.
    ///   - request: The handle that was passed to it, for the log.
    private static func text(
        _ host: Table, _ view: outlet_view, _ limit: outlet_view.Limit, _ name: String,
        of change: RequestChange, _ request: outlet_request
    ) -> String? {
        do {
            return try view.text(limit, name)
        } catch {
            owner(host)?.reportRefusal(error, of: change.rawValue, request.id)
            return nil
        }
    }

    /// Calls `body`, which changes the request of a handle, as ``with(_:_:_:)``.
    ///
    /// A change that is refused is logged in the plugin's name, because plugins rarely check the
    /// status: the request would else be sent without the change, and without a trace. A change of a
    /// request whose hook has settled is recorded as a violation.
    ///
    /// - Parameters:
    ///   - host: The table of the calling plugin.
    ///   - request: The handle.
    ///   - change: What the plugin called.
    ///   - name: The name of the header field; `nil` for other parts.
    ///   - fault: What is wrong with the arguments; called if `body` returns `OUTLET_E_ARGUMENT`.
    ///   - obstacle: What prevents the change; called if `body` returns `OUTLET_E_STATE`.
    static func apply(
        _ host: Table, _ request: outlet_request, _ change: RequestChange,
        _ name: UnsafeBufferPointer<UInt8>? = nil, fault: () -> String? = { nil },
        obstacle: () -> String? = { nil }, _ body: (RequestHandle) -> outlet_status
    ) -> outlet_status {
        with(host, request) { handle in
            let status = body(handle)
            switch status {
            case OUTLET_OK: break
            case OUTLET_E_STALE:
                return refuse(request.id, RequestHandle.self, of: HostTables.number(of: host))
            default:
                owner(host)?.reportRefusal(
                    status, of: change, request.id, name, fault: fault, obstacle: obstacle)
            }
            return status
        }
    }

    /// Replaces the outcome of a handle; a replacement that is refused is logged or recorded, as by
    /// ``apply(_:_:_:_:fault:obstacle:_:)``.
    private static func replace(
        _ host: Table, _ response: outlet_response, _ change: RequestChange,
        by replacement: ResponseHandle.Replacement
    ) -> outlet_status {
        with(host, response.id, ResponseHandle.self) { handle in
            let status = handle.replace(replacement)
            if status == OUTLET_E_STALE {
                return refuse(response.id, ResponseHandle.self, of: HostTables.number(of: host))
            }
            if status == OUTLET_E_STATE {
                let hook = HandleTable.shared.completion(of: response.id)?.hook
                owner(host)?.reportRefusal(
                    status, of: change, response.id,
                    obstacle: { hook == .process ? "a plugin has refused the request" : nil })
            }
            return status
        }
    }

    /// Logs that an argument of a plugin was refused, and returns the status.
    ///
    /// - Parameters:
    ///   - host: The table of the calling plugin.
    ///   - function: The function of the host.
    ///   - refused: What is wrong.
    ///   - handle: The handle that was passed to it; 0 for none.
    static func refuse(
        _ host: Table, _ function: String, _ refused: RefusedText?, _ handle: UInt64 = 0
    ) -> outlet_status {
        if let refused { owner(host)?.reportRefusal(refused, of: function, handle) }
        return OUTLET_E_ARGUMENT
    }

    static func write(
        _ host: Table, _ request: outlet_request, _ text: outlet_view, _ name: String,
        _ change: RequestChange, _ body: (RequestHandle, String) -> outlet_status
    ) -> outlet_status {
        guard let text = self.text(host, text, .value, name, of: change, request) else {
            return OUTLET_E_ARGUMENT
        }
        return apply(
            host, request, change,
            fault: {
                change == .url
                    ? RequestChange.fault(inURL: text) : RequestChange.fault(inMethod: text)
            }
        ) { request in body(request, text) }
    }

    static func writeField(
        _ host: Table, _ request: outlet_request, _ name: outlet_view, _ value: outlet_view,
        keepsOthers: Bool
    ) -> outlet_status {
        let change = keepsOthers ? RequestChange.addHeader : .setHeader
        guard let field = name.read(.name), let bytes = value.foreign(.value) else {
            return refuse(
                host, change.rawValue,
                name.refusal(.name, "name") ?? value.refusal(.value, "value"), request.id)
        }
        return apply(
            host, request, change, field,
            fault: { RequestChange.fault(inField: field, bytes) }
        ) { request in request.write(header: field, value: bytes, keepsOthers: keepsOthers) }
    }

    // MARK: Requests

    static func requestHeader(
        _ host: Table, _ request: outlet_request, _ name: outlet_view, _ nth: UInt32,
        _ out: UnsafeMutablePointer<outlet_view>
    ) -> outlet_status {
        guard let field = name.read(.name) else {
            return refuse(host, "request_header", name.refusal(.name, "name"), request.id)
        }
        return with(host, request) { request in
            store(request.header(field, Int(nth)), at: out)
        }
    }

    static func requestHeaders(
        _ host: Table, _ request: outlet_request, _ out: UnsafeMutablePointer<outlet_field>?,
        _ capacity: UInt64, _ count: UnsafeMutablePointer<UInt64>
    ) -> outlet_status {
        with(host, request) { request in
            store(request.headers(), at: out, capacity: capacity, count: count)
        }
    }

    static func requestRemoveHeader(
        _ host: Table, _ request: outlet_request, _ name: outlet_view
    ) -> outlet_status {
        guard let field = name.read(.name) else {
            return refuse(
                host, RequestChange.removeHeader.rawValue, name.refusal(.name, "name"), request.id)
        }
        return apply(host, request, .removeHeader, field) { $0.remove(header: field) }
    }

    static func requestBody(
        _ host: Table, _ request: outlet_request, _ out: UnsafeMutablePointer<outlet_view>
    ) -> outlet_status {
        with(host, request) { request in
            guard let body = request.bodyCopy() else { return OUTLET_E_STATE }
            return store(body.view, at: out)
        }
    }

    static func requestSnapshot(
        _ host: Table, _ request: outlet_request,
        _ out: UnsafeMutablePointer<outlet_request_snapshot>
    ) -> outlet_status {
        let size: UInt32
        do throws(RefusedText) {
            size = try Self.size(of: out, at: \.struct_size)
        } catch {
            return refuse(host, "request_snapshot", error, request.id)
        }
        return with(host, request) { request in
            let snapshot = request.snapshot()
            out.pointee = outlet_request_snapshot(
                struct_size: size, reserved: 0, method: snapshot.method.view,
                url: snapshot.url.view,
                fields: snapshot.fields.first, field_count: UInt64(snapshot.fields.count),
                body_length: snapshot.length ?? .max)
            return OUTLET_OK
        }
    }

    /// The size of a snapshot structure, as set by the plugin.
    ///
    /// - Throws: ``RefusedText`` if the structure is null or too small.
    private static func size<Snapshot>(
        of out: UnsafeMutablePointer<Snapshot>, at path: KeyPath<Snapshot, UInt32>
    ) throws(RefusedText) -> UInt32 {
        guard UInt(bitPattern: out) != 0 else { throw .missing(name: "snapshot") }
        let (size, least) = (out.pointee[keyPath: path], MemoryLayout<Snapshot>.size)
        guard size >= least else { throw .tooSmall(name: "snapshot", size: size, least: least) }
        return size
    }

    static func requestBodyRead(
        _ host: Table, _ request: outlet_request, _ offset: UInt64,
        _ out: UnsafeMutablePointer<UInt8>?, _ capacity: UInt64,
        _ count: UnsafeMutablePointer<UInt64>
    ) -> outlet_status {
        let id = request.id
        return with(host, request) { request in
            readBody(into: out, capacity, count) {
                request.readBody(at: offset, into: $0) { runningProgram(host, id, $0) }
            }
        }
    }

    /// Runs code of the program that the plugin has called with a handle.
    private static func runningProgram<Result>(
        _ host: Table, _ id: UInt64, _ body: () -> Result
    ) -> Result {
        let caller = HandleTable.shared.owner(numbered: HostTables.number(of: host))
        guard let caller else { return body() }
        return caller.runningProgram(
            in: CurrentCall.completion(of: id) ?? HandleTable.shared.completion(of: id), body)
    }

    private static func readBody(
        into out: UnsafeMutablePointer<UInt8>?, _ capacity: UInt64,
        _ count: UnsafeMutablePointer<UInt64>,
        _ read: (UnsafeMutableRawBufferPointer) -> BodyReader.Part
    ) -> outlet_status {
        guard out != nil || capacity == 0 else {
            CurrentCall.caller?.reportRefusal(.null(name: "buffer"), of: "reading a body")
            return OUTLET_E_ARGUMENT
        }
        // A larger capacity is cut down to the maximum length of a body. A stream's `read` is never
        // called with a null buffer.
        let part =
            if let out {
                read(.init(start: out, count: Int(min(capacity, UInt64(OUTLET_MAX_BODY)))))
            } else {
                withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) {
                    read(.init(rebasing: $0[..<0]))
                }
            }
        switch part {
        case .bytes(let read): return store(UInt64(read), at: count)
        case .unreadable: return OUTLET_E_STATE
        case .failed: return OUTLET_E_FAILED
        case .stale: return OUTLET_E_STALE
        }
    }

    static func requestAttribute(
        _ host: Table, _ request: outlet_request, _ key: outlet_view,
        _ out: UnsafeMutablePointer<outlet_view>
    ) -> outlet_status {
        let name: String
        do {
            name = try key.text(.name, "key")
        } catch {
            return refuse(host, "request_attr", error, request.id)
        }
        return with(host, request) { request in
            store(request.attribute(name), at: out)
        }
    }

    static func requestSetAttribute(
        _ host: Table, _ request: outlet_request, _ key: outlet_view, _ value: outlet_view
    ) -> outlet_status {
        guard let key = text(host, key, .name, "key", of: .attribute, request),
            let value = text(host, value, .value, "value", of: .attribute, request)
        else { return OUTLET_E_ARGUMENT }
        return apply(
            host, request, .attribute, fault: { RequestChange.fault(inAttribute: key) }
        ) { $0.set(attribute: key, value: value) }
    }

    static func requestSlot(
        _ host: Table, _ request: outlet_request,
        _ out: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    ) -> outlet_status {
        with(host, request) { request in
            guard let instance = instance(host), let slot = request.slot(of: instance) else {
                return OUTLET_E_STATE
            }
            return store(UnsafeMutableRawPointer(bitPattern: slot), at: out)
        }
    }

    static func requestSetSlot(
        _ host: Table, _ request: outlet_request, _ slot: UnsafeMutableRawPointer?
    ) -> outlet_status {
        with(host, request) { handle in
            guard let instance = instance(host),
                handle.set(slot: UInt(bitPattern: slot), of: instance)
            else {
                owner(host)?.reportRefusal(
                    OUTLET_E_STATE, of: .slot, request.id,
                    obstacle: { "there is no request_done, in which it would be freed" })
                return OUTLET_E_STATE
            }
            return OUTLET_OK
        }
    }

    static func requestSetBody(_ host: Table, _ request: outlet_request, _ body: outlet_view)
        -> outlet_status
    {
        guard let bytes = body.foreign(.body) else {
            return refuse(
                host, RequestChange.body.rawValue, body.refusal(.body, "body"), request.id)
        }
        return apply(host, request, .body) { request in request.set(body: Array(bytes)) }
    }

    static func requestAnswer(
        _ host: Table, _ request: outlet_request, _ status: Int32,
        _ fields: UnsafePointer<outlet_field>?,
        _ count: UInt64, _ body: outlet_view
    ) -> outlet_status {
        let answer = RequestHandle.Answer(
            status: status, fields: fields, count: count, body: body)
        return apply(
            host, request, .answer,
            fault: { RequestChange.fault(inAnswer: status, fields, count, body) }
        ) { request in
            answer.map(request.answer) ?? OUTLET_E_ARGUMENT
        }
    }

    // MARK: Responses

    static func responseStatus(
        _ host: Table, _ response: outlet_response, _ out: UnsafeMutablePointer<Int32>
    ) -> outlet_status {
        with(host, response.id, ResponseHandle.self) { response in
            guard let status = response.status else { return OUTLET_E_NOT_FOUND }
            return store(status, at: out)
        }
    }

    static func responseError(
        _ host: Table, _ response: outlet_response, _ code: UnsafeMutablePointer<outlet_view>,
        _ message: UnsafeMutablePointer<outlet_view>
    ) -> outlet_status {
        with(host, response.id, ResponseHandle.self) { response in
            guard let failure = response.failure() else { return OUTLET_E_NOT_FOUND }
            let status = store(failure.code.view, at: code)
            return status == OUTLET_OK ? store(failure.message.view, at: message) : status
        }
    }

    static func responseHeader(
        _ host: Table, _ response: outlet_response, _ name: outlet_view, _ nth: UInt32,
        _ out: UnsafeMutablePointer<outlet_view>
    ) -> outlet_status {
        guard let field = name.read(.name) else {
            return refuse(host, "response_header", name.refusal(.name, "name"), response.id)
        }
        return with(host, response.id, ResponseHandle.self) { response in
            store(response.header(field, Int(nth)), at: out)
        }
    }

    static func responseHeaders(
        _ host: Table, _ response: outlet_response, _ out: UnsafeMutablePointer<outlet_field>?,
        _ capacity: UInt64, _ count: UnsafeMutablePointer<UInt64>
    ) -> outlet_status {
        with(host, response.id, ResponseHandle.self) { response in
            store(response.headers(), at: out, capacity: capacity, count: count)
        }
    }

    static func responseBody(
        _ host: Table, _ response: outlet_response, _ out: UnsafeMutablePointer<outlet_view>
    ) -> outlet_status {
        with(host, response.id, ResponseHandle.self) { response in
            store(response.body().view, at: out)
        }
    }

    static func responseSnapshot(
        _ host: Table, _ response: outlet_response,
        _ out: UnsafeMutablePointer<outlet_response_snapshot>
    ) -> outlet_status {
        let size: UInt32
        do throws(RefusedText) {
            size = try Self.size(of: out, at: \.struct_size)
        } catch {
            return refuse(host, "response_snapshot", error, response.id)
        }
        return with(host, response.id, ResponseHandle.self) { response in
            let snapshot = response.snapshot()
            out.pointee = outlet_response_snapshot(
                struct_size: size, status: response.status ?? 0,
                error_code: snapshot.failure?.code.view ?? outlet_view(),
                error_message: snapshot.failure?.message.view ?? outlet_view(),
                fields: snapshot.fields.first, field_count: UInt64(snapshot.fields.count),
                body_length: snapshot.length ?? .max)
            return OUTLET_OK
        }
    }

    static func responseBodyRead(
        _ host: Table, _ response: outlet_response, _ offset: UInt64,
        _ out: UnsafeMutablePointer<UInt8>?, _ capacity: UInt64,
        _ count: UnsafeMutablePointer<UInt64>
    ) -> outlet_status {
        with(host, response.id, ResponseHandle.self) { response in
            readBody(into: out, capacity, count) { response.readBody(at: offset, into: $0) }
        }
    }

    static func responseReplace(
        _ host: Table, _ response: outlet_response, _ status: Int32,
        _ fields: UnsafePointer<outlet_field>?,
        _ count: UInt64, _ body: outlet_view
    ) -> outlet_status {
        guard
            let answer = RequestHandle.Answer(
                status: status, fields: fields, count: count, body: body)
        else {
            owner(host)?.reportRefusal(
                OUTLET_E_ARGUMENT, of: .replace, response.id,
                fault: { RequestChange.fault(inAnswer: status, fields, count, body) })
            return OUTLET_E_ARGUMENT
        }
        return replace(host, response, .replace, by: .response(answer))
    }

    static func responseReplaceError(
        _ host: Table, _ response: outlet_response, _ code: outlet_view, _ message: outlet_view
    ) -> outlet_status {
        let reason: PluginReason
        var refused: RefusedText?
        do {
            reason = try PluginReason(code: code, message: message)
        } catch {
            // The response fails nevertheless: otherwise the program would get what the plugin
            // withholds.
            refused = error
            reason = PluginReason(
                message: "response_replace_error, without a reason that can be read: \(error.fact)",
                fault: .unreadable)
            owner(host)?.reportRefusal(error, of: RequestChange.replaceError.rawValue, response.id)
        }
        let status = replace(host, response, .replaceError, by: .failure(reason))
        return status == OUTLET_OK && refused != nil ? OUTLET_E_ARGUMENT : status
    }
}

import COutletPlugin
import Glibc
import OutletHTTP
import OutletSession
import OutletTransport

/// The host functions that plugins call.
///
/// They receive the plugin's own table and handle ids. An id that has ended, or was given to
/// another plugin, is rejected and recorded as a violation of the calling plugin.
enum HostTable {
    /// The table that the plugin passes; it identifies the plugin.
    typealias Table = UnsafePointer<outlet_host>

    // `nonisolated(unsafe)` because both are written once, before any read, and never freed.
    nonisolated(unsafe) private static let name = ReadOnlyMemory.copy("outlet")
    nonisolated(unsafe) private static let version = ReadOnlyMemory.copy(outletVersion)

    /// The content of each table.
    static var functions: outlet_host {
        outlet_host(
            struct_size: UInt32(MemoryLayout<outlet_host>.size),
            abi_minor: UInt32(OUTLET_ABI_MINOR), name: name, version: version,
            extension: { HostTable.service($0, $1, $2) },
            log: { HostTable.log($0, $1, $2, $3, $4, $5) },
            fail: { HostTable.fail($0, $1, $2, $3) },
            deadline_ns: { HostTable.deadline($0, $1, $2) },
            config_value: { HostTable.setting($0, $1, $2, $3) },
            request_method: { host, request, out in
                HostTable.read(host, request, out) { $0.method() }
            },
            request_url: { host, request, out in HostTable.read(host, request, out) { $0.url() } },
            request_header: { HostTable.requestHeader($0, $1, $2, $3, $4) },
            request_headers: { HostTable.requestHeaders($0, $1, $2, $3, $4) },
            request_body: { HostTable.requestBody($0, $1, $2) },
            request_attr: { HostTable.requestAttribute($0, $1, $2, $3) },
            request_set_method: { host, request, method in
                HostTable.write(host, request, method, "method", .method) {
                    $0.set(method: $1)
                }
            },
            request_set_url: { host, request, url in
                HostTable.write(host, request, url, "url", .url) { $0.set(url: $1) }
            },
            request_set_header: { host, request, name, value in
                HostTable.writeField(host, request, name, value, keepsOthers: false)
            },
            request_add_header: { host, request, name, value in
                HostTable.writeField(host, request, name, value, keepsOthers: true)
            },
            request_remove_header: { HostTable.requestRemoveHeader($0, $1, $2) },
            request_set_body: { HostTable.requestSetBody($0, $1, $2) },
            request_set_attr: { HostTable.requestSetAttribute($0, $1, $2, $3) },
            request_slot: { HostTable.requestSlot($0, $1, $2) },
            request_set_slot: { HostTable.requestSetSlot($0, $1, $2) },
            request_answer: { HostTable.requestAnswer($0, $1, $2, $3, $4, $5) },
            response_status: { HostTable.responseStatus($0, $1, $2) },
            response_error: { HostTable.responseError($0, $1, $2, $3) },
            response_header: { HostTable.responseHeader($0, $1, $2, $3, $4) },
            response_headers: { HostTable.responseHeaders($0, $1, $2, $3, $4) },
            response_body: { HostTable.responseBody($0, $1, $2) },
            response_replace: { HostTable.responseReplace($0, $1, $2, $3, $4, $5) },
            response_replace_error: { HostTable.responseReplaceError($0, $1, $2, $3) },
            sink_write: { HostTable.sinkWrite($0, $1, $2) },
            is_awaited: { HostTable.isAwaited($0, $1) },
            done: { HostTable.done($0, $1, $2, $3, $4) },
            retry_done: { HostTable.retryDone($0, $1, $2, $3, $4, $5) },
            quiesced: { HostTable.quiesced($0) },
            redirect_done: { HostTable.redirectDone($0, $1, $2, $3, $4) },
            request_snapshot: { HostTable.requestSnapshot($0, $1, $2) },
            request_body_read: { HostTable.requestBodyRead($0, $1, $2, $3, $4, $5) },
            response_snapshot: { HostTable.responseSnapshot($0, $1, $2) },
            response_body_read: { HostTable.responseBodyRead($0, $1, $2, $3, $4, $5) })
    }

    /// Calls `body` with the object of an id; for functions that are valid only inside a call.
    ///
    /// - Parameters:
    ///   - host: The table of the calling plugin.
    ///   - id: The handle id.
    ///   - type: The type that the object must have.
    ///   - body: Uses the object.
    /// - Returns: The result of `body`; `OUTLET_E_STALE` if the id has ended or was never given to
    ///   the plugin; `OUTLET_E_THREAD` on a thread that may not use it. These errors are recorded
    ///   as violations, except for ids of a completion that the host has just cancelled.
    static func with<Object: AnyObject & Sendable>(
        _ host: Table, _ id: UInt64, _ type: Object.Type, _ body: (Object) -> outlet_status
    ) -> outlet_status {
        let caller = HostTables.number(of: host)
        guard id >> 48 == caller, caller > 0 else { return refuse(id, type, of: caller) }
        guard let call = CurrentCall.completion(of: id) ?? HandleTable.shared.completion(of: id)
        else {
            guard let (object, thread) = HandleTable.shared.entry(of: id) else {
                return refuse(id, type, of: caller)
            }
            guard let found = object as? Object else { return refuse(type, of: caller) }
            return thread == UInt(pthread_self()) ? body(found) : refuseThread(type, of: caller)
        }
        guard let object = call.object(HandleTable.part(of: id)) else {
            return refuse(id, type, of: caller)
        }
        guard let found = object as? Object else { return refuse(type, of: caller) }
        return call.allowsCurrentThread ? body(found) : refuseThread(type, of: caller)
    }

    /// Calls `body` with the request of a handle, as ``with(_:_:_:_:)``.
    static func with(
        _ host: Table, _ request: outlet_request, _ body: (RequestHandle) -> outlet_status
    ) -> outlet_status {
        if let found = CurrentCall.request(of: request.id, in: host) {
            return found._withUnsafeGuaranteedRef { body($0) }
        }
        return with(host, request.id, RequestHandle.self) { found in
            CurrentCall.remember(found, request.id, in: host)
            return body(found)
        }
    }

    /// Records the use of a handle of something else.
    private static func refuse(_ type: any AnyObject.Type, of caller: UInt16) -> outlet_status {
        HandleTable.shared.owner(numbered: caller)?.recordViolation(
            .foreignHandle, "a handle was used as that of \(name(type)), but is of something else")
        return OUTLET_E_STALE
    }

    /// Records the use of a handle on a thread that may not use it.
    private static func refuseThread(
        _ type: any AnyObject.Type, of caller: UInt16
    ) -> outlet_status {
        HandleTable.shared.owner(numbered: caller)?.recordViolation(
            .wrongThread,
            "the handle of \(name(type)) was used on another thread while the hook or function ran "
                + "that it was passed to")
        return OUTLET_E_THREAD
    }

    /// Records the use of an id that is not valid.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - type: The type of the object that the plugin wants to use.
    ///   - caller: The number of the calling plugin.
    static func refuse(
        _ id: UInt64, _ type: any AnyObject.Type, of caller: UInt16
    ) -> outlet_status {
        guard let owner = owner(numbered: caller) else { return OUTLET_E_STALE }
        if id >> 48 != caller {
            let other = HandleTable.shared.owner(numbered: UInt16(id >> 48))
            let fact =
                if let other, isInstance(other, beside: owner) {
                    "the handle of \(name(type)) of \(other.id) was used with the host table of "
                        + "\(owner.id): keep the table in the instance, or set "
                        + "OUTLET_F_PER_PROCESS"
                } else {
                    "the handle of \(name(type)) was used that was never passed to it"
                }
            owner.recordViolation(.foreignHandle, fact)
        } else if owner.instance?.mayNotKnow(isStale: id) != true {
            owner.recordViolation(
                .staleHandle, "the handle of \(name(type)) was used after its end")
        }
        return OUTLET_E_STALE
    }

    /// Whether two owners are instances of one plugin.
    private static func isInstance(_ owner: PluginOwner, beside other: PluginOwner) -> Bool {
        func plugin(_ owner: PluginOwner) -> Substring {
            owner.id.cut(at: "#")?.head ?? owner.id[...]
        }
        return plugin(owner).hasSameBytes(as: plugin(other))
    }

    /// What the handle of an object is called in messages.
    private static func name(_ type: any AnyObject.Type) -> String {
        switch type {
        case is RequestHandle.Type: "a request"
        case is ResponseHandle.Type: "a response"
        case is SinkHandle.Type: "a sink"
        case is CallContext.Type: "a call"
        case is Completion.Type: "a completion"
        default: "something"
        }
    }

    /// The plugin that a table belongs to.
    ///
    /// - Returns: `nil` for a pointer that is not a plugin's table, which is recorded as a violation
    ///   of the plugin whose hook this thread is running.
    static func owner(_ host: Table) -> PluginOwner? {
        owner(numbered: HostTables.number(of: host))
    }

    /// The plugin that a table belongs to.
    ///
    /// - Parameters:
    ///   - host: The table.
    ///   - function: The function of the host that the plugin calls.
    /// - Returns: `nil` as from ``owner(_:)``, and after `destroy`, which is recorded as a violation.
    static func serving(_ host: Table, _ function: String) -> PluginOwner? {
        guard let owner = owner(host) else { return nil }
        guard owner.hasEnded else { return owner }
        owner.recordViolation(
            .didNotQuiesce,
            "\(function) was called after destroy, by a thread that was not ended")
        return nil
    }

    private static func owner(numbered number: UInt16) -> PluginOwner? {
        if let owner = HandleTable.shared.owner(numbered: number) { return owner }
        CurrentCall.caller?.recordViolation(
            .foreignHandle, "a host table was used that is not its own, such as a copy of it")
        return nil
    }

    /// Returns the object of an id; `nil` for an id that is not valid, which is recorded as a
    /// violation.
    static func find<Object: AnyObject & Sendable>(
        _ host: Table, _ id: UInt64, _ type: Object.Type
    ) -> Object? {
        let caller = HostTables.number(of: host)
        if id >> 48 == caller, caller > 0, let found = HandleTable.shared.find(id, as: type) {
            return found
        }
        _ = refuse(id, type, of: caller)
        return nil
    }

    /// Returns the object of an id that may have ended without the plugin's knowledge.
    ///
    /// - Returns: `nil` if the id has ended, which is no violation, or was never given to the
    ///   plugin, which is one.
    static func findOwn<Object: AnyObject & Sendable>(
        _ host: Table, _ id: UInt64, _ type: Object.Type
    ) -> Object? {
        guard id >> 48 == HostTables.number(of: host) else {
            return find(host, id, type)
        }
        return HandleTable.shared.find(id, as: type)
    }

    /// The instance that the table belongs to; `nil` before its `create` has returned.
    static func instance(_ host: Table) -> PluginInstance? {
        owner(host)?.instance
    }

    // MARK: Calls

    private static func service(
        _ host: Table, _ view: outlet_view, _ out: UnsafeMutablePointer<UnsafeRawPointer?>
    ) -> outlet_status {
        let id: String
        do {
            id = try view.text(.name, "id")
        } catch {
            return refuse(host, "extension", error)
        }
        guard let owner = serving(host, "extension") else { return OUTLET_E_STALE }
        guard owner.grants.allowsService(id) else {
            owner.reportMissingService(
                .warning, "\(id) needs a permission such as net:example.com")
            return OUTLET_E_DENIED
        }
        guard let table = table(ofService: id) else {
            owner.reportMissingService(
                .info,
                "there is no service '\(id)'; there are "
                    + services.sorted().joined(separator: ", "))
            return OUTLET_E_UNSUPPORTED
        }
        if id != TimerService.name { owner.usesCallServices = true }
        return store(table, at: out)
    }

    /// The names of the services.
    static let services: Set = [HTTPService.name, TimerService.name, StreamService.name]

    /// The table of a service; `nil` if there is no such service, or no memory for the table.
    static func table(ofService name: String) -> UnsafeRawPointer? {
        switch name {
        case HTTPService.name: HTTPService.table.map { UnsafeRawPointer($0) }
        case TimerService.name: TimerService.table.map { UnsafeRawPointer($0) }
        case StreamService.name: StreamService.table.map { UnsafeRawPointer($0) }
        default: nil
        }
    }

    private static func log(
        _ host: Table, _ call: outlet_call, _ level: UInt32, _ message: outlet_view,
        _ fields: UnsafePointer<outlet_field>?, _ count: UInt64
    ) -> outlet_status {
        guard let owner = owner(host) else { return OUTLET_E_STALE }
        guard let known = PluginLogLine.Level(rawValue: level) else {
            owner.reportRefusal(
                .unknown(name: "level", value: UInt64(level)), of: "log", call.id)
            return OUTLET_E_ARGUMENT
        }
        let line: PluginLogLine
        do {
            line = PluginLogLine(
                plugin: owner.id, level: known, message: try message.text(.message, "message"),
                facts: try PluginLogLine.facts(fields, count))
        } catch {
            owner.reportRefusal(error, of: "log", call.id)
            return OUTLET_E_ARGUMENT
        }
        if call.id != 0, find(host, call.id, CallContext.self) == nil { return OUTLET_E_STALE }
        let isLogged = owner.log(line)
        guard serving(host, "log") != nil else { return OUTLET_E_STALE }
        return isLogged ? OUTLET_OK : OUTLET_E_STATE
    }

    private static func fail(
        _ host: Table, _ call: outlet_call, _ code: outlet_view, _ message: outlet_view
    ) -> outlet_status {
        let reason = Result { () throws(RefusedText) in
            try PluginReason(code: code, message: message)
        }
        return with(host, call.id, CallContext.self) { call in
            switch reason {
            case .success(let reason):
                call.fail(reason)
                return OUTLET_OK
            case .failure(let refused):
                call.refuseReason(refused)
                return OUTLET_E_ARGUMENT
            }
        }
    }

    private static func deadline(
        _ host: Table, _ call: outlet_call, _ out: UnsafeMutablePointer<UInt64>
    ) -> outlet_status {
        with(host, call.id, CallContext.self) { store($0.deadline, at: out) }
    }

    private static func setting(
        _ host: Table, _ call: outlet_call, _ key: outlet_view,
        _ out: UnsafeMutablePointer<outlet_view>
    ) -> outlet_status {
        let name: String
        do {
            name = try key.text(.name, "key")
        } catch {
            return refuse(host, "config_value", error, call.id)
        }
        return with(host, call.id, CallContext.self) { context in
            guard context.hasConfiguration else {
                owner(host)?.reportRefusal(.unconfigured, of: "config_value", call.id)
                return OUTLET_E_STATE
            }
            return store(context.setting(name), at: out)
        }
    }

    private static func sinkWrite(
        _ host: Table, _ sink: outlet_sink, _ bytes: outlet_view
    ) -> outlet_status {
        with(host, sink.id, SinkHandle.self) { found in
            let status = found.write(bytes)
            // Closed by the answer of its hook.
            return status == OUTLET_E_STALE
                ? refuse(sink.id, SinkHandle.self, of: HostTables.number(of: host)) : status
        }
    }

    // MARK: Completions

    private static func isAwaited(_ host: Table, _ completion: outlet_completion) -> outlet_status {
        // An id that has ended is no violation: plugins call this function to check for that.
        guard serving(host, "is_awaited") != nil,
            completion.id >> 48 == HostTables.number(of: host),
            let completion = HandleTable.shared.find(completion.id, as: Completion.self)
        else { return OUTLET_E_CANCELLED }
        return completion.isCancelled ? OUTLET_E_CANCELLED : OUTLET_OK
    }

    private static func done(
        _ host: Table, _ completion: outlet_completion, _ result: outlet_status,
        _ code: outlet_view, _ message: outlet_view
    ) -> outlet_status {
        settle(host, completion, by: .done, code, message) { completion, reason in
            guard result != OUTLET_OK else { return .done }
            if result > 0 {
                completion.recordForbiddenValue("its completion was settled with \(result)")
            }
            var reason =
                result > 0
                ? reason.or("settled with \(result), which is no status", fault: nil)
                : reason.orMissing("status \(result)")
            reason.isRefusal = result == OUTLET_E_DENIED
            return .failed(completion.failure(reason))
        }
    }

    private static func retryDone(
        _ host: Table, _ completion: outlet_completion, _ verdict: Int32, _ delay: UInt64,
        _ code: outlet_view, _ message: outlet_view
    ) -> outlet_status {
        settle(host, completion, by: .retryDone, code, message) { completion, reason in
            switch verdict {
            case OUTLET_RETRY_NO: return .verdict(.doNotRetry)
            case OUTLET_RETRY_NOW: return .verdict(.retry)
            case OUTLET_RETRY_AFTER:
                guard delay <= UInt64(OUTLET_MAX_RETRY_DELAY) else {
                    completion.recordForbiddenValue("it asks for another attempt in \(delay) ns")
                    return .failed(
                        completion.failure(
                            PluginReason(message: "another attempt in more than a day")))
                }
                return .verdict(.retryAfter(nanoseconds: delay))
            case OUTLET_RETRY_FAIL_WITH:
                var reason = reason.orMissing("OUTLET_RETRY_FAIL_WITH")
                reason.isRefusal = true
                return .verdict(.fail(reason))
            default:
                completion.recordForbiddenValue(
                    "its completion was settled with the verdict \(verdict)")
                return .failed(
                    completion.failure(
                        reason.or("settled with \(verdict), which is no verdict", fault: nil)))
            }
        }
    }

    private static func redirectDone(
        _ host: Table, _ completion: outlet_completion, _ verdict: Int32,
        _ code: outlet_view, _ message: outlet_view
    ) -> outlet_status {
        settle(host, completion, by: .redirectDone, code, message) { completion, reason in
            switch verdict {
            case OUTLET_REDIRECT_FOLLOW: return .done
            case OUTLET_REDIRECT_TAKE: return .redirectTaken
            case OUTLET_REDIRECT_FAIL:
                var reason = reason.orMissing("OUTLET_REDIRECT_FAIL")
                reason.isRefusal = true
                return .failed(completion.failure(reason))
            default:
                completion.recordForbiddenValue(
                    "its completion was settled with the verdict \(verdict)")
                return .failed(
                    completion.failure(
                        reason.or("settled with \(verdict), which is no verdict", fault: nil)))
            }
        }
    }

    private static func settle(
        _ host: Table, _ id: outlet_completion, by function: Completion.Settler,
        _ code: outlet_view,
        _ message: outlet_view,
        _ answer: (Completion, PluginReason) -> Completion.Answer
    ) -> outlet_status {
        let caller = HostTables.number(of: host)
        guard id.id >> 48 == caller,
            let completion = HandleTable.shared.find(id.id, as: Completion.self)
        else {
            guard let owner = serving(host, function.rawValue) else { return OUTLET_E_STALE }
            if id.id >> 48 == caller, HandleTable.shared.isLive(id.id) {
                owner.recordViolation(
                    .foreignHandle, "a handle was settled that is not a completion")
            } else if id.id >> 48 == caller {
                owner.recordViolation(.settledTwice, "a completion was settled a second time")
            } else {
                owner.recordViolation(
                    .foreignHandle, "a completion was settled that was never passed to it")
            }
            return OUTLET_E_STALE
        }
        guard completion.settler == function else {
            // No violation if the host has cancelled the completion already.
            if !completion.isCancelled {
                completion.recordForbiddenValue(
                    "its completion is not settled by \(function.rawValue)")
            }
            return OUTLET_E_ARGUMENT
        }
        let reason: PluginReason
        do {
            reason = try PluginReason(code: code, message: message)
        } catch {
            // Settled nevertheless: otherwise the request would only wait for a valid reason.
            completion.recordForbiddenValue(
                "the reason of its answer cannot be read: \(error.fact)")
            reason = PluginReason(message: "the plugin's reason cannot be read: \(error.fact)")
        }
        return completion.settle(answer(completion, reason))
    }

    private static func quiesced(_ host: Table) -> outlet_status {
        serving(host, "quiesced")?.instance?.quiesced() ?? OUTLET_E_STALE
    }
}

extension PluginLogLine {
    /// Copies the facts of a log line.
    ///
    /// - Throws: ``RefusedText`` if there are too many or none, or one cannot be read.
    static func facts(
        _ fields: UnsafePointer<outlet_field>?, _ count: UInt64
    ) throws(RefusedText) -> [Fact] {
        guard count > 0 else { return [] }
        let limit = Int(OUTLET_MAX_LOG_FIELDS)
        guard count <= UInt64(limit) else {
            throw .tooMany(name: "list of facts", count: count, limit: limit)
        }
        guard let fields else { throw .null(name: "list of facts") }
        var facts: [Fact] = []
        for field in UnsafeBufferPointer(start: fields, count: Int(count)) {
            facts.append(
                Fact(
                    name: try field.name.text(.message, "fact's name"),
                    value: try field.value.text(.message, "fact's value")))
        }
        return facts
    }
}

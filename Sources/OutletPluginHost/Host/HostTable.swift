import COutletPlugin
import OutletSession
import OutletTransport

/// The functions that every plugin is given.
///
/// They are told nothing but ids, so they look the object up; a stale id is answered and held
/// against the plugin that it was made for.
enum HostTable {
    /// The table as C reads it.
    ///
    /// `nonisolated(unsafe)` because it is written once, before anybody can read it, and never
    /// freed.
    nonisolated(unsafe) static let pointer: UnsafePointer<outlet_host> = {
        let table = UnsafeMutablePointer<outlet_host>.allocate(capacity: 1)
        table.initialize(to: make())
        return UnsafePointer(table)
    }()

    private static func make() -> outlet_host {
        outlet_host(
            struct_size: UInt32(MemoryLayout<outlet_host>.size),
            abi_minor: UInt32(OUTLET_ABI_MINOR), name: ByteArena.permanent("outlet"),
            version: ByteArena.permanent(outletVersion), extension: { _, _ in nil },
            log: { HostTable.log($0, $1, $2) }, fail: { HostTable.fail($0, $1) },
            deadline_ns: { HostTable.deadline($0) },
            config_value: { HostTable.setting($0, $1, $2) },
            request_method: { call, out in HostTable.read(call, out) { $0.method() } },
            request_url: { call, out in HostTable.read(call, out) { $0.url() } },
            request_header: { HostTable.requestHeader($0, $1, $2, $3) },
            request_headers: { HostTable.requestHeaders($0, $1, $2, $3) },
            request_body: { HostTable.requestBody($0, $1) },
            request_attr: { HostTable.requestAttribute($0, $1, $2) },
            request_set_method: { request, method in
                HostTable.write(request, method) { $0.set(method: $1) }
            },
            request_set_url: { request, url in HostTable.write(request, url) { $0.set(url: $1) } },
            request_set_header: { request, name, value in
                HostTable.write(request, name, value) { $0.set(header: $1, value: $2) }
            },
            request_add_header: { request, name, value in
                HostTable.write(request, name, value) { $0.add(header: $1, value: $2) }
            },
            request_remove_header: { request, name in
                HostTable.write(request, name) { $0.remove(header: $1) }
            },
            request_set_body: { HostTable.requestSetBody($0, $1) },
            request_set_attr: { request, key, value in
                HostTable.write(request, key, value) { $0.set(attribute: $1, value: $2) }
            },
            request_answer: { HostTable.requestAnswer($0, $1, $2, $3, $4) },
            response_status: { HostTable.find($0.id, ResponseHandle.self)?.status ?? 0 },
            response_error: { HostTable.responseError($0, $1, $2) },
            response_header: { HostTable.responseHeader($0, $1, $2, $3) },
            response_headers: { HostTable.responseHeaders($0, $1, $2, $3) },
            response_body: { HostTable.responseBody($0, $1) },
            response_replace: { HostTable.responseReplace($0, $1, $2, $3, $4) },
            response_replace_error: { HostTable.responseReplaceError($0, $1) },
            sink_write: { HostTable.sinkWrite($0, $1) },
            is_cancelled: { HostTable.isCancelled($0) },
            adapt_done: { HostTable.adaptDone($0, $1, $2) },
            retry_done: { HostTable.retryDone($0, $1, $2, $3) },
            quiesced: { HostTable.quiesced($0) })
    }

    /// The object of an id; a stale one is noted.
    static func find<Object: AnyObject & Sendable>(_ id: UInt64, _ type: Object.Type) -> Object? {
        if let object = HandleTable.shared.find(id, as: type) { return object }
        guard let owner = HandleTable.shared.owner(of: id),
            owner.instance?.mayNotKnow(isStale: id) != true
        else { return nil }
        owner.note(.staleHandle, "a handle was used after its end, or for something else")
        return nil
    }

    // MARK: Calls

    private static func log(_ owner: outlet_owner, _ level: UInt32, _ message: outlet_view) {
        guard let owner = find(owner.id, PluginOwner.self), let observer = owner.observer else {
            return
        }
        observer.pluginDidLog(
            PluginLogLine(
                plugin: owner.id, level: PluginLogLine.Level(rawValue: level) ?? .error,
                message: message.message(limit: 64 << 10)))
    }

    private static func fail(_ call: outlet_call, _ message: outlet_view) {
        find(call.id, CallContext.self)?.fail(message.message())
    }

    private static func deadline(_ call: outlet_call) -> UInt64 {
        find(call.id, CallContext.self)?.deadline ?? 0
    }

    private static func setting(
        _ call: outlet_call, _ key: outlet_view, _ out: UnsafeMutablePointer<outlet_view>
    ) -> outlet_status {
        guard let key = key.text else { return OUTLET_E_ARGUMENT }
        guard let call = find(call.id, CallContext.self) else { return OUTLET_E_STALE }
        return store(call.setting(key), at: out)
    }

    private static func sinkWrite(_ sink: outlet_sink, _ bytes: outlet_view) -> outlet_status {
        find(sink.id, SinkHandle.self)?.write(bytes) ?? OUTLET_E_STALE
    }

    // MARK: Completions

    private static func isCancelled(_ completion: outlet_completion) -> Int32 {
        // Not a breach: this is how a plugin asks whether the completion is still alive.
        let completion = HandleTable.shared.find(completion.id, as: Completion.self)
        return completion?.isCancelled ?? true ? 1 : 0
    }

    private static func adaptDone(
        _ completion: outlet_completion, _ result: outlet_status, _ error: outlet_view
    ) -> outlet_status {
        settle(completion, .adapt) { completion in
            guard result != OUTLET_OK else { return .adapted }
            if result > 0 {
                completion.noteForbidden("its completion was settled with \(result)")
            }
            let message = error.message()
            return .failed(
                completion.failure(
                    message.isEmpty ? "status \(result), without a reason" : message))
        }
    }

    private static func retryDone(
        _ completion: outlet_completion, _ verdict: Int32, _ delay: UInt64, _ error: outlet_view
    ) -> outlet_status {
        settle(completion, .retry) { completion in
            switch verdict {
            case OUTLET_RETRY_NO: return .verdict(.doNotRetry)
            case OUTLET_RETRY_NOW: return .verdict(.retry)
            case OUTLET_RETRY_AFTER: return .verdict(.retryAfter(nanoseconds: delay))
            case OUTLET_RETRY_FAIL_WITH:
                return .verdict(
                    .fail(
                        message: error.message().isEmpty
                            ? "OUTLET_RETRY_FAIL_WITH, without a reason" : error.message()))
            default:
                completion.noteForbidden("its completion was settled with the verdict \(verdict)")
                let message = error.message()
                return .failed(
                    completion.failure(
                        message.isEmpty ? "verdict \(verdict), without a reason" : message))
            }
        }
    }

    private static func settle(
        _ id: outlet_completion, _ hook: PluginHook, _ answer: (Completion) -> Completion.Answer
    ) -> outlet_status {
        guard let completion = HandleTable.shared.find(id.id, as: Completion.self) else {
            HandleTable.shared.owner(of: id.id)?.note(
                .settledTwice, "\(hook.rawValue): its completion was settled before")
            return OUTLET_E_STALE
        }
        guard completion.hook == hook else { return OUTLET_E_ARGUMENT }
        return completion.settle(answer(completion))
    }

    private static func quiesced(_ owner: outlet_owner) -> outlet_status {
        guard let owner = find(owner.id, PluginOwner.self), let instance = owner.instance else {
            return OUTLET_E_STALE
        }
        return instance.quiesced()
    }
}

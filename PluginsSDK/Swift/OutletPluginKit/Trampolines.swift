import COutletPlugin

// The C functions of all hooks. Errors do not cross C: they become a status and a text.

func prepareHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request,
    _ completion: outlet_completion
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.preparing else {
        return OUTLET_OK
    }
    let request = MutableRequest(Request(host: instance.host, handle: request))
    return instance.run(completion) {
        let error = await caught { try await plugin.prepare(request) }
        return { $0.settle(completion, error) }
    }
}

func willSendHook(_ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request) {
    guard let instance = Instance.at(instance) else { return }
    instance.observing?.willSend(Request(host: instance.host, handle: request))
}

func didReceiveHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request,
    _ response: outlet_response
) {
    guard let instance = Instance.at(instance) else { return }
    instance.observing?.didReceive(
        Response(host: instance.host, handle: response),
        for: Request(host: instance.host, handle: request))
}

func processHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request,
    _ response: outlet_response, _ completion: outlet_completion
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.processing else {
        return OUTLET_OK
    }
    let request = Request(host: instance.host, handle: request)
    let response = MutableResponse(Response(host: instance.host, handle: response))
    return instance.run(completion) {
        let error = await caught { try await plugin.process(response, for: request) }
        return { $0.settle(completion, error) }
    }
}

func requestDoneHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request
) {
    guard let instance = Instance.at(instance) else { return }
    instance.tracking?.requestDone(id: Request(host: instance.host, handle: request).id)
}

func adaptHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request,
    _ completion: outlet_completion
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.adapting else {
        return OUTLET_OK
    }
    let request = MutableRequest(Request(host: instance.host, handle: request))
    return instance.run(completion) {
        let error = await caught { try await plugin.adapt(request) }
        return { $0.settle(completion, error) }
    }
}

func retryHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request,
    _ response: outlet_response, _ attempt: UInt32, _ completion: outlet_completion
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.retrying else {
        return OUTLET_OK
    }
    let request = Request(host: instance.host, handle: request)
    let response = Response(host: instance.host, handle: response)
    return instance.run(completion) {
        let decision = await plugin.retry(request, after: response, attempt: Int(attempt))
        return { host in
            switch decision {
            case .doNotRetry: host.settleRetry(completion, OUTLET_RETRY_NO)
            case .retry: host.settleRetry(completion, OUTLET_RETRY_NOW)
            case .retryAfter(let delay):
                host.settleRetry(completion, OUTLET_RETRY_AFTER, after: nanoseconds(delay))
            case .fail(let message):
                host.settleRetry(
                    completion, OUTLET_RETRY_FAIL_WITH,
                    (code: "", message: message.start(ofUTF8: 4096)))
            }
        }
    }
}

func finalizeHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request,
    _ completion: outlet_completion
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.finalizing else {
        return OUTLET_OK
    }
    let request = MutableRequest(Request(host: instance.host, handle: request))
    return instance.run(completion) {
        let error = await caught { try await plugin.finalize(request) }
        return { $0.settle(completion, error) }
    }
}

func redirectHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request,
    _ response: outlet_response, _ next: outlet_request, _ completion: outlet_completion
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.redirecting else {
        return OUTLET_OK
    }
    let request = Request(host: instance.host, handle: request)
    let response = Response(host: instance.host, handle: response)
    let next = MutableRequest(Request(host: instance.host, handle: next))
    return instance.run(completion) {
        do {
            let decision = try await plugin.redirect(request, answeredWith: response, to: next)
            return {
                $0.settleRedirect(
                    completion,
                    decision == .follow ? OUTLET_REDIRECT_FOLLOW : OUTLET_REDIRECT_TAKE)
            }
        } catch {
            return {
                $0.settleRedirect(completion, OUTLET_REDIRECT_FAIL, PluginError.words(of: error))
            }
        }
    }
}

func serializeHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request,
    _ response: outlet_response, _ sink: outlet_sink, _ type: UnsafeMutablePointer<outlet_view>
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.serializing else {
        return OUTLET_E_STATE
    }
    let host = instance.host
    do {
        let value = try plugin.serialize(
            Response(host: host, handle: response), for: Request(host: host, handle: request))
        type.pointee = instance.kept(value.type)
        return withView(value.bytes) { host.table.pointee.sink_write(host.table, sink, $0) }
    } catch {
        return host.fail(call, error)
    }
}

func eventsHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ events: UnsafePointer<outlet_events>
) {
    guard let plugin = Instance.at(instance)?.monitoring else { return }
    let list = (0..<events.pointee.count).map { index in
        let event = outlet_event_at(events, index).pointee
        return RequestEvent(
            kind: RequestEvent.Kind(rawValue: event.kind), time: event.time_ns,
            duration: .nanoseconds(Int64(clamping: event.duration_ns)), a: event.a, b: event.b,
            requestID: event.request_id.string, text: event.text.string)
    }
    plugin.monitor(list, dropped: events.pointee.dropped)
}

func trustHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ server: UnsafePointer<outlet_trust>
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.judging else {
        return OUTLET_OK
    }
    let server = server.pointee
    let fault = server.fault.string
    let identity = ServerIdentity(
        host: server.host.string, port: Int(server.port),
        certificates: (0..<Int(clamping: server.certificate_count)).compactMap {
            server.certificates?[$0].bytes
        },
        fault: fault.isEmpty ? nil : fault)
    do {
        try plugin.evaluate(identity)
        return OUTLET_OK
    } catch {
        return instance.host.fail(call, error)
    }
}

func cancelHook(_ instance: OpaquePointer, _ completion: outlet_completion) {
    Instance.at(instance)?.cancel(completion)
}

func quiesceHook(_ instance: OpaquePointer, _ call: outlet_call) -> outlet_status {
    Instance.at(instance)?.quiesce() ?? true ? OUTLET_OK : OUTLET_PENDING
}

/// Returns the error that a hook throws; `nil` if it throws none.
func caught(
    _ body: nonisolated(nonsending) () async throws -> Void
) async -> (any Error)? {
    do {
        try await body()
        return nil
    } catch {
        return error
    }
}

func nanoseconds(_ duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : whole &+ UInt64(attoseconds / 1_000_000_000)
}

import COutletPlugin

// The C side of every hook. Nothing throws through here: an error becomes a status and a text.

func prepareHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.preparing else {
        return OUTLET_OK
    }
    return guarded(instance, call) {
        try plugin.prepare(MutableRequest(Request(host: instance.host, handle: request)))
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
    _ response: outlet_response
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.processing else {
        return OUTLET_OK
    }
    return guarded(instance, call) {
        try plugin.process(
            MutableResponse(Response(host: instance.host, handle: response)),
            for: Request(host: instance.host, handle: request))
    }
}

func adaptHook(
    _ instance: OpaquePointer, _ call: outlet_call, _ request: outlet_request,
    _ completion: outlet_completion
) -> outlet_status {
    guard let instance = Instance.at(instance), let plugin = instance.adapting else {
        return OUTLET_OK
    }
    let request = MutableRequest(Request(host: instance.host, handle: request))
    return instance.run(completion) { instance in
        let table = instance.host.table.pointee
        do {
            try await plugin.adapt(request)
            _ = table.adapt_done(completion, OUTLET_OK, outlet_view())
        } catch {
            let message = (error as? PluginError)?.message ?? String(describing: error)
            withView(message) { _ = table.adapt_done(completion, OUTLET_E_FAILED, $0) }
        }
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
    return instance.run(completion) { instance in
        let decision = await plugin.retry(request, after: response, attempt: Int(attempt))
        let table = instance.host.table.pointee
        switch decision {
        case .doNotRetry:
            _ = table.retry_done(completion, OUTLET_RETRY_NO, 0, outlet_view())
        case .retry:
            _ = table.retry_done(completion, OUTLET_RETRY_NOW, 0, outlet_view())
        case .retryAfter(let delay):
            _ = table.retry_done(
                completion, OUTLET_RETRY_AFTER, nanoseconds(delay), outlet_view())
        case .fail(let message):
            withView(message) {
                _ = table.retry_done(completion, OUTLET_RETRY_FAIL_WITH, 0, $0)
            }
        }
    }
}

func cancelHook(_ instance: OpaquePointer, _ completion: outlet_completion) {
    Instance.at(instance)?.cancel(completion)
}

func quiesceHook(_ instance: OpaquePointer, _ call: outlet_call) -> outlet_status {
    Instance.at(instance)?.quiesce() ?? true ? OUTLET_OK : OUTLET_PENDING
}

private func guarded(
    _ instance: Instance, _ call: outlet_call, _ body: () throws -> Void
) -> outlet_status {
    do {
        try body()
        return OUTLET_OK
    } catch {
        return instance.host.fail(call, error)
    }
}

private func nanoseconds(_ duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : whole &+ UInt64(attoseconds / 1_000_000_000)
}

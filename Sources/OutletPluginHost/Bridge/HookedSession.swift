import OutletHTTP
import OutletSession
import OutletTransport

/// Makes the parts of a session that call plugins' hooks.
struct HookedSession {
    /// The plugins, in the order in which their hooks are called.
    let plugins: [LoadedPlugin]
    /// Keeps the plugins running.
    let running: RunningPlugins
    /// The time limit of a hook, in nanoseconds.
    let limit: UInt64
    /// The number of retries of a request up to which plugins may ask for another attempt.
    let maximumRetries: Int
    /// The number of events that are queued for each plugin.
    let maximumWaitingEvents: Int

    /// Calls `adapt` of all plugins, then `prepare` of all, and `retry`.
    var interceptors: [any RequestInterceptor] {
        let hooked = instances(with: .prepare).map {
            HookedPreparer($0, limit: limit, keeping: running)
        }
        let interceptor = Interceptor(
            adapters: interceptors(with: .adapt) + hooked, retriers: interceptors(with: .retry))
        return interceptor.adapters.isEmpty && interceptor.retriers.isEmpty ? [] : [interceptor]
    }

    /// Calls `redirect`.
    var redirectDeciders: [any RedirectDecider] {
        instances(with: .redirect).map { HookedRedirects($0, limit: limit, keeping: running) }
    }

    /// Calls `finalize` and `will_send`, and delivers what plugins answer before the transfer.
    var layers: [@Sendable (_ next: any Transport) -> any Transport] {
        let (finalizers, watchers) = (instances(with: .finalize), instances(with: .willSend))
        // The others may answer in place of the transfer, watch its body, or send requests of their
        // own.
        guard
            !instances(with: .finalize, .willSend, .adapt, .prepare, .redirect).isEmpty
                || plugins.contains(where: { $0.grants.allowsService(HTTPService.name) })
        else { return [] }
        let (limit, running) = (limit, running)
        return [
            {
                HookedWire(
                    around: $0, finalizers: finalizers, watchers: watchers, limit: limit,
                    keeping: running)
            }
        ]
    }

    /// Calls `did_receive` and `process`, and ends what plugins hold for a call.
    var middleware: [any Middleware] {
        let judges = instances(with: .didReceive, .process)
        let readers = instances(with: .adapt, .prepare, .finalize, .redirect)
        guard !judges.isEmpty || !readers.isEmpty || needsScope else { return [] }
        return [
            HookedCalls(
                judges, of: plugins.map(\.instance), limit: limit, needsScope: needsScope,
                readsStreams: !readers.isEmpty,
                needsOwnTransfers: !instances(with: .finalize).isEmpty, keeping: running)
        ]
    }

    /// Whether each call needs a ``RequestScope``, whatever its body is.
    private var needsScope: Bool {
        // Blocking hooks that run during the transfer end before those at the end of a call.
        // Requests that a plugin sends for a call use the call's session. It may ask for the service
        // in its first hook only.
        instances(with: .willSend, .didReceive, .process).contains { !$0.isNonblocking }
            || plugins.contains {
                $0.hooks.contains(.requestDone) || $0.instance.owner.usesCallServices
                    || $0.grants.allowsService(HTTPService.name)
            }
    }

    /// Calls `on_events`.
    var eventMonitors: [any EventMonitor] {
        let watching = instances(with: .events)
        guard !watching.isEmpty else { return [] }
        return [
            HookedEvents(watching, capacity: maximumWaitingEvents, keeping: running)
        ]
    }

    /// The instances with one of these hooks.
    func instances(with hooks: PluginHook...) -> [PluginInstance] {
        plugins.filter { plugin in hooks.contains { plugin.hooks.contains($0) } }.map(\.instance)
    }

    private func interceptors(with hook: PluginHook) -> [HookedInterceptor] {
        instances(with: hook).map {
            HookedInterceptor(
                $0, limit: limit, maximumRetries: maximumRetries, keeping: running)
        }
    }
}

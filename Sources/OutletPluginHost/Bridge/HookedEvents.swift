import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// Sends events of requests to plugins in batches, without waiting for the plugins.
final class HookedEvents: EventMonitor {
    let queue = DispatchQueue(label: "outlet.plugin.events")
    private let buffers: [EventBuffer]
    /// The number of attempts that each unfinished request has begun.
    ///
    /// Counted here, because the request itself may already have begun a later attempt when an
    /// event is observed.
    private let attempts = Lock(Attempts())

    private struct Attempts {
        var counts: [UUID: Int64] = [:]
        /// The requests that have finished last, of which late events are left out.
        var finished: [UUID] = []
        /// How many of them are kept.
        static let most = 64
    }

    private let running: RunningPlugins

    init(_ plugins: [PluginInstance], capacity: Int, keeping running: RunningPlugins) {
        self.running = running
        buffers = plugins.map { EventBuffer($0, capacity: capacity) }
        running.add(eventQueue: queue)
    }

    deinit { running.remove(eventQueue: queue) }

    func observe(_ event: Event, of request: Request?) {
        guard let request else { return }
        let count = attempts.withLock { attempts -> Int64? in
            guard !attempts.finished.contains(request.id) else { return nil }
            if case .didCreateTask = event { attempts.counts[request.id, default: 0] += 1 }
            let count = attempts.counts[request.id] ?? 0
            if case .didFinish = event {
                attempts.counts[request.id] = nil
                // Only the attempt of a cancelled request may end after it.
                if request.isCancelled { attempts.finished.append(request.id) }
                if attempts.finished.count > Attempts.most { attempts.finished.removeFirst() }
            }
            return count
        }
        guard let attempts = count, let event = PluginEvent(event, of: request, attempts: attempts)
        else { return }
        for buffer in buffers where event.source.excluded?.contains(buffer.owner) != true {
            buffer.add(event)
        }
    }
}

/// An event in the form that plugins receive.
struct PluginEvent: Sendable {
    let kind: Int32
    let time = Stopwatch.now
    var duration: UInt64 = 0
    var a: Int64 = 0
    var b: Int64 = 0
    let requestID: String
    var text = ""
    let source: Source

    /// What a batch of events has in common: requests that the plugin sends with the call of
    /// `on_events` use the session, and skip the instances.
    struct Source: Sendable, Equatable {
        /// The identity of the session, which events do not retain; `nil` if it no longer exists.
        let session: ObjectIdentifier?
        /// The instances whose own requests led to the request; `nil` for none.
        let excluded: Set<ObjectIdentifier>?

        init(_ request: Request) {
            session = request.session.map { ObjectIdentifier($0) }
            excluded = (request.convertible as? HTTPRequest)?.excludedPlugins
        }
    }

    /// Converts an event; the time of the event is the current time.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - request: The request.
    ///   - attempts: The number of attempts that the request has begun.
    /// - Returns: `nil` for events that plugins do not receive.
    init?(_ event: Event, of request: Request, attempts: Int64) {
        requestID = request.id.uuidString
        source = Source(request)
        switch event {
        case .didCreateTask(let task):
            kind = OUTLET_EVENT_ATTEMPT
            a = attempts
            text = task.currentRequest?.url?.absoluteString ?? ""
        case .taskDidReceiveResponse(_, let response):
            kind = OUTLET_EVENT_RESPONSE
            a = Int64(response.statusCode)
            text = response.url?.absoluteString ?? ""
        case .willRedirect(let next, let response):
            kind = OUTLET_EVENT_REDIRECT
            a = Int64(response.statusCode)
            text = next.url?.absoluteString ?? ""
        case .isRetrying:
            kind = OUTLET_EVENT_RETRY
            a = attempts
        case .didGatherMetrics(let metrics):
            kind = OUTLET_EVENT_MEASURED
            a = metrics.requestHeaderBytes + metrics.requestBodyBytes
            b = metrics.responseHeaderBytes + metrics.responseBodyBytes
            duration = UInt64(clamping: metrics.total) * 1000
        case .didFinish:
            kind = OUTLET_EVENT_FINISHED
            a = Int64(request.response?.statusCode ?? 0)
            b = attempts
            text = request.error.map { FailureText.of($0).code } ?? ""
        case .didCancel: kind = OUTLET_EVENT_CANCELLED
        case .didSuspend: kind = OUTLET_EVENT_SUSPENDED
        case .didResume: kind = OUTLET_EVENT_RESUMED
        default: return nil
        }
    }
}

/// The events that one plugin has not received yet.
///
/// Thread: any.
final class EventBuffer: Sendable {
    private struct State {
        var events: [PluginEvent] = []
        var dropped: UInt64 = 0
        var isReporting = false
    }

    /// The maximum number of events passed in one call.
    private static let batch = 256

    private let instance: PluginInstance
    /// The maximum number of queued events; further ones are dropped and counted.
    private let capacity: Int
    private let state = Lock(State())

    /// The identity of the plugin instance.
    var owner: ObjectIdentifier { ObjectIdentifier(instance) }

    init(_ instance: PluginInstance, capacity: Int) {
        self.instance = instance
        self.capacity = capacity
    }

    /// Queues an event that the plugin's event mask includes, and starts sending if nothing is
    /// being sent.
    func add(_ event: PluginEvent) {
        guard instance.hooks.event_mask & 1 << UInt64(event.kind) != 0 else { return }
        let begins = state.withLock { state in
            guard state.events.count < capacity else {
                state.dropped += 1
                return false
            }
            state.events.append(event)
            defer { state.isReporting = true }
            return !state.isReporting
        }
        // Delays the shutdown of the plugin until it has received the events.
        if begins, instance.hold() { notify() }
    }

    private func notify() {
        let (events, dropped) = state.withLock { state in
            let source = state.events.first?.source
            let events = Array(state.events.prefix(Self.batch).prefix { $0.source == source })
            state.events.removeFirst(events.count)
            state.isReporting = !events.isEmpty
            defer { if !events.isEmpty { state.dropped = 0 } }
            return (events, state.dropped)
        }
        guard let hook = instance.hooks.on_events, let source = events.first?.source else {
            return instance.endHold()
        }
        let origin = CallOrigin(
            session: { [sessions = instance.sessions] in
                source.session.flatMap { sessions.session($0) }
            }, excluded: source.excluded)
        let batch = EventBatch(events, dropped: dropped, of: origin)
        let reported = instance.report(.events, about: batch) { pointer, call, _ in
            batch.withTable { hook(pointer, call, $0) }
        }
        reported.deliver { self.notify() }
    }
}

/// Events as C structures, valid as long as this object exists.
private final class EventBatch: ServiceSubject, @unchecked Sendable {
    // @unchecked because nothing is written after `init`.
    private let arena: ByteArena
    private let list: [outlet_event]
    private let dropped: UInt64
    let origin: CallOrigin?

    var name: String { list.count == 1 ? "1 event" : "\(list.count) events" }

    init(_ events: [PluginEvent], dropped: UInt64, of origin: CallOrigin) {
        self.dropped = dropped
        self.origin = origin
        var arena = ByteArena()
        var list: [outlet_event] = []
        list.reserveCapacity(events.count)
        for event in events {
            list.append(
                outlet_event(
                    kind: UInt32(event.kind), reserved: 0, time_ns: event.time,
                    duration_ns: event.duration, a: event.a, b: event.b,
                    request_id: arena.copy(event.requestID).view, text: arena.copy(event.text).view)
            )
        }
        self.list = list
        self.arena = arena
    }

    func withTable(_ body: (UnsafePointer<outlet_events>) -> Void) {
        list.withUnsafeBufferPointer { list in
            guard let first = list.baseAddress else { return }
            var table = outlet_events(
                struct_size: UInt32(MemoryLayout<outlet_events>.size),
                stride: UInt32(MemoryLayout<outlet_event>.stride), count: UInt64(list.count),
                dropped: dropped, first: first)
            body(&table)
        }
    }
}

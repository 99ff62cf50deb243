public import Dispatch
public import OutletSession

/// Records the names of events: those of requests and those of transfers separately.
public struct EventRecorder: EventMonitor {
    /// Where events are observed.
    public let queue = DispatchQueue(label: "events")
    /// The names of the requests' events.
    public let ofRequests = Recorder<String>()
    /// The names of the transfers' events.
    public let ofTransfers = Recorder<String>()

    /// No events yet.
    public init() {}

    /// Records the name of an event.
    public func observe(_ event: Event, of request: Request?) {
        // It repeats other events.
        if case .didCompleteExchange = event { return }
        let isOfTransfer = request == nil || event.name.hasPrefix("task")
        (isOfTransfer ? ofTransfers : ofRequests).record(event.name)
    }

    /// Waits until `count` requests have ended, and returns the names of the requests' events.
    ///
    /// Events after a request's end are included if its response has been awaited.
    public func requestEvents(until count: Int = 1) async throws -> [String] {
        // Counts and waits with one snapshot: otherwise an event in between would be missed.
        var seen = ofRequests.values
        while seen.count(where: { $0 == "didFinish" }) < count {
            seen = try await ofRequests.values(seen.count + 1)
        }
        await queue.drained()
        return ofRequests.values
    }
}

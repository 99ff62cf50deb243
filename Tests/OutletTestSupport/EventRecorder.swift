public import Dispatch
public import OutletSession

/// Records the names of events: those of requests and those of transfers separately.
public struct EventRecorder: EventMonitor {
    /// The queue on which events are observed.
    public let queue = DispatchQueue(label: "events")
    /// The names of the requests' events.
    public let ofRequests = Recorder<String>()
    /// The names of the transfers' events.
    public let ofTransfers = Recorder<String>()

    /// Creates a recorder without events.
    public init() {}

    /// Records the name of an event, except `didCompleteExchange`.
    public func observe(_ event: Event, of request: Request?) {
        // It repeats what other events report.
        if case .didCompleteExchange = event { return }
        let isOfTransfer = request == nil || event.name.hasPrefix("task")
        (isOfTransfer ? ofTransfers : ofRequests).record(event.name)
    }

    /// Waits until `count` requests have ended, and returns the names of the requests' events.
    ///
    /// Events after a request's end are included if the caller has awaited its response.
    ///
    /// - Throws: ``TestSupportError`` if no event arrives for 60 s (times ``patience``).
    public func requestEvents(until count: Int = 1) async throws -> [String] {
        // Counts in the same snapshot that it waits with. With two snapshots, an event recorded
        // between them would be missed.
        var seen = ofRequests.values
        while seen.count(where: { $0 == "didFinish" }) < count {
            seen = try await ofRequests.values(seen.count + 1)
        }
        await queue.drained()
        return ofRequests.values
    }
}

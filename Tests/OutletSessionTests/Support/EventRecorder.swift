import Dispatch
import OutletSession
import OutletTestSupport

/// Keeps the names of events, those of requests and those of transfers apart.
struct EventRecorder: EventMonitor {
    let queue = DispatchQueue(label: "events")
    let ofRequests = Events<String>()
    let ofTransfers = Events<String>()

    func observe(_ event: Event, of request: Request?) {
        // It repeats what other events have told.
        if case .didCompleteExchange = event { return }
        let isOfTransfer = request == nil || event.name.hasPrefix("task")
        (isOfTransfer ? ofTransfers : ofRequests).append(event.name)
    }

    /// The requests' events, once `count` of them are over.
    ///
    /// What follows a request's end is there too if its response has been awaited.
    func requestEvents(until count: Int = 1) async throws -> [String] {
        // One reading for both questions: an event in between would be waited for in vain.
        var seen = ofRequests.values
        while seen.count(where: { $0 == "didFinish" }) < count {
            seen = try await ofRequests.wait(for: seen.count + 1)
        }
        await queue.drained()
        return ofRequests.values
    }
}

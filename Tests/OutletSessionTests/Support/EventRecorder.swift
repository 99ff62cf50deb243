import Dispatch
import OutletSession

/// Keeps the names of events, those of requests and those of transfers apart.
struct EventRecorder: EventObserver {
    let queue: DispatchQueue? = DispatchQueue(label: "events")
    let ofRequests = Events<String>()
    let ofTransfers = Events<String>()

    func observe(_ event: Event, of request: Request?) {
        (request == nil ? ofTransfers : ofRequests).append(event.name)
    }

    /// The requests' events up to the end of `count` of them.
    func requestEvents(until count: Int = 1) async throws -> [String] {
        while ofRequests.values.count(where: { $0 == "didFinish" }) < count {
            try await ofRequests.wait(for: ofRequests.values.count + 1)
        }
        return ofRequests.values
    }
}

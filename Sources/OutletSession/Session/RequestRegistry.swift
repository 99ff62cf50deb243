/// The requests of a session that are under way, and why no more may start.
///
/// A request knows its place in the table, so that coming and going costs no hashing.
struct RequestRegistry: Sendable {
    private var places: [Request?] = []
    private var free: [Int] = []
    /// Why no request may start; `nil` as long as the session lives.
    var closed: SessionError?

    /// All requests, in no order.
    var all: [Request] { places.compactMap { $0 } }

    /// Takes a request in; nothing happens if it is there.
    mutating func insert(_ request: Request) {
        guard request.place < 0 else { return }
        if let place = free.popLast() {
            request.place = place
            places[place] = request
        } else {
            request.place = places.count
            places.append(request)
        }
    }

    /// Lets go of a request; nothing happens if it is not there.
    mutating func remove(_ request: Request) {
        guard request.place >= 0 else { return }
        places[request.place] = nil
        free.append(request.place)
        request.place = -1
    }
}

/// The requests of a session that are under way, and why no more may start.
///
/// A chain: each request knows its neighbours, so that coming and going touches nothing else.
struct RequestRegistry: Sendable {
    /// A request's place in the chain.
    struct Link: Sendable {
        fileprivate var isIn = false
        fileprivate var former: Unmanaged<Request>?
        fileprivate var next: Unmanaged<Request>?
    }

    /// The one that came last.
    ///
    /// Each request is kept by the chain as a whole, from its coming to its going.
    private var last: Unmanaged<Request>?
    /// Why no request may start; `nil` as long as the session lives.
    var closed: SessionError?

    /// All requests, the last one first.
    var all: [Request] {
        var all: [Request] = []
        var next = last
        while let request = next?.takeUnretainedValue() {
            all.append(request)
            next = request.link.former
        }
        return all
    }

    /// Takes a request in; nothing happens if it is there.
    mutating func insert(_ request: Request) {
        guard !request.link.isIn else { return }
        let kept = Unmanaged.passRetained(request)
        request.link.isIn = true
        request.link.former = last
        last?._withUnsafeGuaranteedRef { $0.link.next = kept }
        last = kept
    }

    /// Lets go of a request; nothing happens if it is not there.
    mutating func remove(_ request: Request) {
        guard request.link.isIn else { return }
        let link = request.link
        request.link = Link()
        link.former?._withUnsafeGuaranteedRef { $0.link.next = link.next }
        if let next = link.next {
            next._withUnsafeGuaranteedRef { $0.link.former = link.former }
        } else {
            last = link.former
        }
        Unmanaged.passUnretained(request).release()
    }
}

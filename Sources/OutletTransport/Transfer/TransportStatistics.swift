public import OutletHTTP

/// What a transport is doing at one moment, in numbers.
///
/// Each number is right for a moment; that of another may be a little later.
public struct TransportStatistics: Sendable, Equatable {
    /// The figures of a transport, or of what concerns one origin.
    public struct Figures: Sendable, Equatable {
        /// Connections that are open, or being made.
        public var openConnections = 0
        /// Those of them that certainly carry nothing.
        ///
        /// A connection of HTTP/2 may carry many requests: while any are under way, as many connections
        /// count as in use as there are requests.
        public var idleConnections = 0
        /// Requests that have their place: connecting, being sent, answered, or suspended; WebSockets
        /// until they are over.
        public var requestsUnderWay = 0
        /// Requests that wait for a place among the connections.
        public var requestsWaiting = 0

        /// Nothing at all.
        public init() {}
    }

    /// What the transport does in all.
    public var total = Figures()
    /// What of it concerns which origin, if that was asked for; origins of which nothing is known any more
    /// are left out.
    public var origins: [Origin: Figures] = [:]

    /// Nothing at all.
    public init() {}
}

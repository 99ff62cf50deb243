public import OutletHTTP

/// The current numbers of connections and requests of a transport.
///
/// The numbers are read one after another while transfers run, so they may not fit together
/// exactly.
public struct TransportStatistics: Sendable, Equatable {
    /// The numbers of a whole transport or of one origin.
    public struct Figures: Sendable, Equatable {
        /// Connections that are open or being opened.
        public var openConnections = 0
        /// The open connections that are not in use.
        ///
        /// This is a lower bound: each running request counts as one connection in use, although
        /// several requests may share one HTTP/2 connection.
        public var idleConnections = 0
        /// Requests that are connecting, being sent, waiting for their response, receiving it, or
        /// suspended; also open WebSockets.
        public var activeRequests = 0
        /// Requests that wait for a free connection.
        public var requestsWaiting = 0

        /// Makes zeros.
        public init() {}
    }

    /// The numbers of the whole transport.
    public var total = Figures()
    /// The numbers by origin, if ``Transport/statistics(perOrigin:)`` was asked for them.
    ///
    /// Origins without connections and requests may be missing.
    public var origins: [Origin: Figures] = [:]

    /// Makes zeros.
    public init() {}
}

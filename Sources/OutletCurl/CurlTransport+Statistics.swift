import CCurl
public import OutletTransport

extension CurlTransport {
    /// Returns the current numbers of connections, running requests and waiting requests.
    ///
    /// The loops keep these numbers anyway, so requests pay nothing for them. Running loops change
    /// them while they are read, so they need not add up exactly.
    ///
    /// - Parameter perOrigin: Whether `TransportStatistics.origins` is filled in as well.
    ///
    /// Thread: any. Does not wait.
    public func statistics(perOrigin: Bool) -> TransportStatistics {
        var statistics = TransportStatistics()
        for loop in livingLoops {
            var known = TransportStatistics.Figures()
            for (origin, figures) in loop.origins.figures {
                known += figures
                if perOrigin { statistics.origins[origin, default: .init()] += figures }
            }
            let open = Int(ccurl_poller_sockets(loop.poller))
            // Open sockets that belong to no known origin are idle connections.
            known.idleConnections += max(0, open - known.openConnections)
            known.openConnections = max(open, known.openConnections)
            // `load` also counts transfers that are still in the mailbox and suspended ones without
            // a place.
            known.activeRequests = max(0, loop.load.value - known.requestsWaiting)
            statistics.total += known
        }
        return statistics
    }
}

extension TransportStatistics.Figures {
    fileprivate static func += (sum: inout Self, figures: Self) {
        sum.openConnections += figures.openConnections
        sum.idleConnections += figures.idleConnections
        sum.activeRequests += figures.activeRequests
        sum.requestsWaiting += figures.requestsWaiting
    }
}

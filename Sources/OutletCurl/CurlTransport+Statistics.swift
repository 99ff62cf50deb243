import CCurl
public import OutletTransport

extension CurlTransport {
    /// What the transport is doing now: connections, requests under way, requests that wait.
    ///
    /// Numbers that the transport's threads keep anyway are looked at, so it costs requests nothing.
    ///
    /// - Parameter perOrigin: Whether to tell origins apart, too.
    ///
    /// Thread: any, at any time. Waits for nobody.
    public func statistics(perOrigin: Bool) -> TransportStatistics {
        var statistics = TransportStatistics()
        for loop in livingLoops {
            var known = TransportStatistics.Figures()
            for (origin, figures) in loop.origins.figures {
                known += figures
                if perOrigin { statistics.origins[origin, default: .init()] += figures }
            }
            let open = Int(ccurl_poller_sockets(loop.poller))
            // Connections to origins that are not known any more carry nothing.
            known.idleConnections += max(0, open - known.openConnections)
            known.openConnections = max(open, known.openConnections)
            // With those that are on their way to the loop, or hold no place while suspended.
            known.requestsUnderWay = max(0, loop.load.value - known.requestsWaiting)
            statistics.total += known
        }
        return statistics
    }
}

extension TransportStatistics.Figures {
    fileprivate static func += (sum: inout Self, figures: Self) {
        sum.openConnections += figures.openConnections
        sum.idleConnections += figures.idleConnections
        sum.requestsUnderWay += figures.requestsUnderWay
        sum.requestsWaiting += figures.requestsWaiting
    }
}

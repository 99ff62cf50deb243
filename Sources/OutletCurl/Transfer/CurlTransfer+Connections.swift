import CCurl
import OutletTLS
import OutletTransport

/// Decides whether a request may be sent on the connection that libcurl has picked for it.
extension CurlTransfer {
    /// Whether the request may be sent on a connection; if not, libcurl has to make another one.
    ///
    /// A connection with HTTP/1 that has received data since its last response is not used. libcurl only
    /// checks whether it was closed, and would treat that data as the response (RFC 9112 §9.2).
    ///
    /// If it takes the connections to a host for such with HTTP/2, libcurl 7.88 also picks one with
    /// HTTP/1 on which another request runs, and one that is not secured yet.
    ///
    /// - Parameter ends: The addresses of the connection.
    func accepts(_ ends: ConnectionEnds, _ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        let port = ends.localPort
        let mayBeSecured = address?.isSecure != false || !loop.settings.secureProxies.isEmpty
        let connection = mayBeSecured ? ccurl_get_ssl(easy.raw) : nil
        if address?.isSecure == true, !isFree(connection, easy, loop) { return false }
        // On a new connection, TLS may have sent tickets for sessions.
        let isNew = easy.opener.pointee.opened != easy.socketsAtSend && easy.hasNewConnection
        if !isNew, !usesHTTP2(connection, loop) {
            if let connection, Verification.of(connection)?.hasUnreadData == true { return false }
            // libcurl itself answers a challenge on another connection if the server has ended this one,
            // over TLS with an alert, which is shorter than any response.
            let isAnswer = sends > sendsBefore && localPort == port
            let end: Int32 = isAnswer ? (connection == nil ? 0 : TLSConnection.alertSize) : -1
            if ccurl_poller_brings_uncalled(loop.poller, port, end) { return false }
        }
        if extras != nil, !mayUseConnection(to: ends.remote, loop.settings) { return false }
        if !loop.negotiated.isEmpty || !easy.negotiatesWith.isEmpty, !joins(port, easy, loop) {
            return false
        }
        return true
    }

    /// Whether the connection to an https server is secured, and multiplexes or is idle.
    private func isFree(
        _ connection: UnsafeMutableRawPointer?, _ easy: EasyHandle, _ loop: EventLoop
    ) -> Bool {
        guard let connection, TLSConnection.isSecured(connection) else { return false }
        if TLSConnection.speaksHTTP2(connection) { return true }
        if !loop.isOccupied(connection) || hasOwnConnection(easy) { return true }
        // So that libcurl itself finds an idle one, if there is one.
        needsHTTP1 = true
        wantsIdleConnection = true
        return false
    }

    /// Whether libcurl has made the connection for the transfer, which has not been sent on it.
    func hasOwnConnection(_ easy: EasyHandle) -> Bool {
        sends == sendsBefore && easy.hasNewConnection
    }

    /// Keeps other requests away from the connection, over TLS, if it cannot have several at the same time.
    ///
    /// - Parameter port: The connection's local port.
    func occupyConnection(_ port: Int32, _ easy: EasyHandle, _ loop: EventLoop) {
        address?.queue.noteSending(on: port)
        multiplexed = nil
        guard link == nil, let connection = ccurl_get_ssl(easy.raw) else { return }
        if TLSConnection.speaksHTTP2(connection) {
            multiplexed = Verification.of(connection)
        } else {
            loop.occupy(connection, by: easy)
        }
    }

    /// Whether a connection uses HTTP/2, where a server may send frames without a request, and several
    /// requests may run at the same time.
    ///
    /// - Parameter connection: The `SSL *`; `nil` without TLS.
    private func usesHTTP2(_ connection: UnsafeMutableRawPointer?, _ loop: EventLoop) -> Bool {
        connection.map(TLSConnection.speaksHTTP2)
            ?? (loop.settings.configuration.httpVersion == .http2PriorKnowledge)
    }

    /// Whether another transfer has sent its request on the same connection, and has not ended.
    ///
    /// - Parameter port: The connection's local port.
    private func sharesConnection(_ port: Int32, _ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        let connection = ccurl_get_ssl(easy.raw)
        return loop.pool.contains { other in
            // Connections to Unix sockets have no ports.
            guard other !== self, other.sends > 0, other.localPort == port, other.link == nil,
                let its = other.easy
            else { return false }
            return connection == nil ? port > 0 : ccurl_get_ssl(its.raw) == connection
        }
    }

    /// Makes libcurl close the connection together with the transfer, before it is ended, if that is
    /// the only one there and uses HTTP/2.
    ///
    /// libcurl 7.88 sends the end of a stream only with the next request: the server would go on. And
    /// it keeps a connection on which nothing is received any more, for all later requests. A connection
    /// that a waiting request will use at once stays, unless it may be dead; if none uses it, it is ended
    /// later (``EventLoop/endUnusedConnections(of:)``).
    ///
    /// - Parameter mayBeDead: Whether the transfer has reached its time limit.
    func closeConnection(_ easy: EasyHandle, _ loop: EventLoop, mayBeDead: Bool = false) {
        loop.assertOnLoop()
        guard sends > 0, link == nil, observedEnd == .ahead,
            usesHTTP2(ccurl_get_ssl(easy.raw), loop),
            !sharesConnection(localPort, easy, loop)
        else { return }
        if !mayBeDead, let queue = address?.queue, queue.figures.waiting > 0 {
            queue.noteUnsentEnds(on: localPort)
        } else {
            ccurl_get_ssl(easy.raw).flatMap { Verification.of($0) }?.expectEnd()
            easy.applySingleUse()
        }
    }

    /// Whether libcurl may have missed that the server has ended the response, because it was sending
    /// the request's body on the same connection (libcurl 7.88, HTTP/2).
    ///
    /// False for a body that waits for more bytes: see ``didStopReading(from:hasEnded:_:_:)``.
    func mayHaveMissedEnd(_ easy: EasyHandle) -> Bool {
        loop?.assertOnLoop()
        return mayHaveBody && hasResponse && easy.head.isHTTP2 && observedEnd == .ahead
            && bodyWait == .none
    }
}

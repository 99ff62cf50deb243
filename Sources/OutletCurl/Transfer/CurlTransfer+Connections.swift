import CCurl
import OutletTLS
import OutletTransport

/// Decides whether a request may be sent on the connection that libcurl has picked for it.
extension CurlTransfer {
    /// Whether the request may be sent on a connection; if not, libcurl has to make another one.
    ///
    /// An idle connection that has received data since its last response is not used. libcurl only
    /// checks whether it was closed, and would treat that data as the response (RFC 9112 §9.2).
    ///
    /// - Parameter ends: The addresses of the connection.
    func accepts(_ ends: ConnectionEnds, _ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        let port = ends.localPort
        if ccurl_poller_brings_uncalled(loop.poller, easy.raw, port), !speaksHTTP2(easy, loop) {
            return false
        }
        if extras != nil, !mayUseConnection(to: ends.remote, loop.settings) { return false }
        if !loop.negotiated.isEmpty || !easy.negotiatesWith.isEmpty, !joins(port, easy, loop) {
            return false
        }
        let isMixed = address?.queue.hasMixedVersions ?? false
        guard isMixed || !loop.silent.isEmpty else { return true }
        let isNew = sends == 0 && easy.hasNewConnection
        if isMixed, !isNew, !speaksHTTP2(easy, loop), sharesConnection(easy, loop) { return false }
        if !loop.silent.admits(to: port, isNew: isNew) {
            easy.applyClosing()
            return false
        }
        return true
    }

    /// Whether the connection of the transfer uses HTTP/2, where a server may send frames without a
    /// request, and several requests may run at the same time.
    private func speaksHTTP2(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        ccurl_get_ssl(easy.raw).map(TLSConnection.speaksHTTP2)
            ?? (loop.settings.configuration.httpVersion == .http2PriorKnowledge)
    }

    /// Whether another transfer has sent its request on the same connection, and has not ended.
    private func sharesConnection(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        let connection = ccurl_get_ssl(easy.raw)
        return loop.pool.contains { other in
            guard other !== self, other.sends > 0, other.link == nil, let its = other.easy else {
                return false
            }
            guard let connection else { return localPort > 0 && other.localPort == localPort }
            return ccurl_get_ssl(its.raw) == connection
        }
    }

    /// Records that the transfer has reached its time limit without progress: no other request is sent
    /// on its connection, which ends.
    ///
    /// Not while others use it, because it could not end, and libcurl would pick it for each request.
    func noteSilence(_ easy: EasyHandle, _ loop: EventLoop) {
        loop.assertOnLoop()
        guard sends > 0, link == nil, speaksHTTP2(easy, loop), !sharesConnection(easy, loop) else {
            return
        }
        loop.silent.note(localPort)
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

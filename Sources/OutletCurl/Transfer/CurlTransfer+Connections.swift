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
        if let queue = address?.queue, queue.hasMixedVersions, !speaksHTTP2(easy, loop),
            loop.pool.contains(where: { $0 !== self && $0.isRunning(on: port, in: queue) })
        {
            return false
        }
        if !loop.silent.isEmpty,
            !loop.silent.admits(to: port, isNew: sends == 0 && easy.hasNewConnection)
        {
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

    /// Whether the transfer is running on a connection.
    private func isRunning(on port: Int32, in queue: OriginQueue<CurlTransfer>) -> Bool {
        sends > 0 && localPort == port && address?.queue === queue && link == nil
            && observedEnd == .ahead
    }

    /// Records that the transfer has reached its time limit without progress: if it shows that its
    /// connection is dead, no other request is sent there.
    func noteSilence(_ easy: EasyHandle, _ loop: EventLoop) {
        loop.assertOnLoop()
        guard sends > 0, link == nil, let queue = address?.queue, speaksHTTP2(easy, loop),
            !loop.pool.contains(where: {
                $0 !== self && $0.isRunning(on: localPort, in: queue)
                    && $0.lastProgress > lastProgress
            })
        else { return }
        loop.silent.note(localPort)
    }

    /// Whether libcurl may have missed that the server has ended the response, because it was sending
    /// the request's body on the same connection (libcurl 7.88, HTTP/2).
    func mayHaveMissedEnd(_ easy: EasyHandle) -> Bool {
        loop?.assertOnLoop()
        return mayHaveBody && hasResponse && easy.head.isHTTP2 && observedEnd == .ahead
    }
}

import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

extension CurlTransfer {
    /// Decides whether the request may be sent on the connection that libcurl has picked
    /// (`CURLOPT_PREREQFUNCTION`).
    ///
    /// libcurl sends a request again by itself when a reused connection turns out to be closed, and
    /// when an HTTP/2 server refuses it (``maySendAgain(_:_:)``).
    ///
    /// - Parameter ends: The addresses of the connection.
    /// - Returns: Whether to send. If not, `failure` is set, or `wantsOtherConnection`.
    func willSend(_ easy: EasyHandle, _ loop: EventLoop, on ends: ConnectionEnds) -> Bool {
        loop.assertOnLoop()
        lastProgress = loop.now
        guard !hasResponse else { return fail(secondAnswer()) }
        loop.vacate(by: easy)
        guard sends == 0 || maySendAgain(easy, loop) else { return false }
        guard accepts(ends, easy, loop) else {
            noteUnprocessed(easy, loop)
            wantsOtherConnection = true
            return false
        }
        if extras != nil, !isPeerAccepted(easy, loop) { return false }
        if sends > 0, !prepareRepeat(easy) { return false }
        let isTimed = mayHaveBody || sends > 0
        easy.head.begin(isTimed: isTimed)
        if isTimed { sentAt = ccurl_now_us() }
        if address?.isSecure == true { occupyConnection(ends.localPort, easy, loop) }
        sends += 1
        easy.socketsAtSend = easy.opener.pointee.opened
        wasAnswered = false
        if let queue = address?.queue { answersBefore = queue.answers }
        wasSuspended = false
        bodyWait = .none
        connection = loop.connections.texts(of: ends)
        localPort = ends.localPort
        if link == nil, let address,
            address.queue.version == .unknown
                || address.isSecure && easy.opener.pointee.opened != easy.socketsAtStart
        {
            loop.learnVersion(from: self, easy)
        }
        if isOpener { loop.endOpening(by: self, hasConnection: true) }
        if extras != nil, !noteSend(easy, loop) { return false }
        // libcurl ignores a pause that comes before it has a connection, so apply it now.
        if isPaused { loop.pause(self, ccurl_pause_all, for: pauses) }
        return true
    }

    /// The maximum number of challenges that libcurl answers in one transfer: two steps of NTLM
    /// each for a proxy and a server, and stale nonces.
    static var mostAnsweredChallenges: Int { 8 }

    /// Records that the request is sent, for transfers with extras.
    ///
    /// - Returns: Whether to send.
    private func noteSend(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        if let challenge = heldHead {
            heldHead = nil
            guard challenge.statusCode != 417 else { return dropExpect(easy) }
            answeredChallenges += 1
            guard answeredChallenges <= Self.mostAnsweredChallenges else {
                return fail(endlessChallenges(challenge))
            }
            handler?.transfer(self, didUse: challenge, turn: loop.turn)
        }
        // libcurl has no TLS data for connections that it hands over (CURLOPT_CONNECT_ONLY) later.
        if link != nil, let connection = ccurl_get_ssl(easy.raw) {
            tls = TLSConnection.agreement(of: connection)
        }
        return true
    }

    /// Sends the request again without its field `Expect`, with which libcurl would repeat it as often
    /// as the server refuses it.
    private func dropExpect(_ easy: EasyHandle) -> Bool {
        var fields = request.headers
        fields.remove(name: "Expect")
        return easy.applyHeaders(fields, hasBody: mayHaveBody)
            || fail(TransferError(code: .unknown, host: address?.host, reason: "no memory left"))
    }

    /// The error of a transfer with too many challenges: a server can declare every nonce stale
    /// (`stale=true`).
    func endlessChallenges(_ challenge: HTTPResponse) -> TransferError {
        let isProxy = challenge.statusCode == 407
        return TransferError(
            code: .badServerResponse, stage: .receiving, host: address?.host,
            reason: "the \(isProxy ? "proxy" : "server") asked for credentials once more "
                + "(\(challenge.statusCode)) after \(Self.mostAnsweredChallenges) answers, and "
                + "refused none of them")
    }

    /// Whether the server speaks HTTP/2, as far as the settings and its last response tell.
    var speaksHTTP2: Bool {
        guard let address, let loop else { return false }
        return loop.settings.version(of: address) == .http2
    }

    /// Reads more of the request's body (`CURLOPT_READFUNCTION`).
    ///
    /// - Returns: The number of bytes read, 0 at the end, or `CURL_READFUNC_PAUSE`; `nil` to fail
    ///   the transfer.
    func fillBody(
        _ buffer: UnsafeMutableRawBufferPointer, _ easy: EasyHandle, _ loop: EventLoop
    ) -> Int? {
        loop.assertOnLoop()
        guard case .reader(let reader) = easy.source else { return nil }
        if reader.mustWait(ready: { loop.post(.bodyReady(self)) }) {
            guard mayWait(easy, loop) else { return nil }
            return Int(CURL_READFUNC_PAUSE)
        }
        lastProgress = loop.now
        bodyWait = .none
        do throws(TransferError) {
            return try reader.read(into: buffer)
        } catch {
            failure = error
            return nil
        }
    }

    /// Records that libcurl reads no more from the connection; called in its callbacks.
    ///
    /// While its sending is paused, libcurl 7.88 neither ends the transfer after a complete response nor
    /// reports that the connection has ended. Sending is continued to find out which it is.
    ///
    /// - Returns: Whether the upload waits for more of its body.
    func didStopReading(
        from socket: Int32, hasEnded: Bool, _ easy: EasyHandle, _ loop: EventLoop
    ) -> Bool {
        loop.assertOnLoop()
        // Otherwise it stops because receiving is paused, too.
        guard bodyWait != .none, !isPaused else { return false }
        // libcurl has begun the request again, and now uses another connection.
        if let former = extras?.stoppedSocket, former.descriptor != socket { return false }
        extras?.stoppedSocket = (socket, easy.client)
        guard hasEnded || bodyWait == .begun else { return true }
        bodyWait = hasEnded ? .ended : .stopped
        loop.post(.bodyReady(self))
        return true
    }

    /// Whether libcurl's sending may be paused until there is more of the body; false if that has become
    /// of no use.
    ///
    /// If not, `failure` is set, unless the response is complete or another connection is wanted.
    private func mayWait(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        switch bodyWait {
        case .none, .begun:
            bodyWait = .begun
            return true
        case .answered: return true
        // libcurl begins the request again.
        case .stopped where heldHead != nil: return true
        case .stopped where isComplete(easy):
            bodyWait = .answered
            return true
        case .stopped, .ended:
            if isComplete(easy) { return false }
            let isKept = ccurl_get_long(easy.raw, CURLINFO_NUM_CONNECTS) == 0
            if !hasResponse, isKept, request.method.isIdempotent, !speaksHTTP2 {
                wantsOtherConnection = true
                return false
            }
            return fail(lostWhileWaiting(easy))
        }
    }

    /// The error of an upload whose server ends the connection, or the response, before it has the whole
    /// body.
    private func lostWhileWaiting(_ easy: EasyHandle) -> TransferError {
        let fact =
            if let status = undeliveredStatus(easy) {
                TransferError.undelivered(status)
            } else if hasResponse {
                "the server ended its response after \(received) bytes of the body, before it had the "
                    + "whole request"
            } else {
                "the server closed the connection without a response, before it had the whole request"
            }
        let waited = waitedFor.map { ", while it waited for \($0)" } ?? ""
        return TransferError(
            code: .networkConnectionLost, stage: .sending, host: address?.host,
            reason: fact + waited)
    }

    /// Rewinds the request's body (`CURLOPT_SEEKFUNCTION`), unless it is at its start.
    ///
    /// - Returns: Whether it could be rewound.
    func rewindBody(_ easy: EasyHandle) -> Bool {
        loop?.assertOnLoop()
        guard case .reader(let reader) = easy.source else { return false }
        guard reader.given > 0 else { return true }
        do throws(TransferError) {
            try reader.rewind()
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Names the response that is being received in errors.
    var responseName: String { opensTunnel ? "the proxy's response" : "the response" }

    /// Whether the transfer may be waiting for a proxy's answer to `CONNECT`.
    var opensTunnel: Bool {
        guard !proxy.isEmpty, let easy else { return false }
        return sends == 0
            || easy.isTunnelled && easy.opener.pointee.opened != easy.socketsAtSend
    }

    /// Records progress (`CURLOPT_XFERINFOFUNCTION`), and reports it to a handler that wants it.
    ///
    /// - Parameter count: The number of bytes sent so far, as libcurl counts them.
    /// - Returns: Whether the transfer goes on: `false` if it keeps libcurl busy without a result.
    func noteProgress(sent count: Int64, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        let bytes = count == sent ? count : easy?.source.bytes(inSent: count) ?? count
        if bytes != sent {
            sent = bytes
            lastProgress = loop.now
            if reportsProgress { reportProgress(loop) }
        } else if opensTunnel, isProxyEndless(loop) {
            return fail(
                TransferError(
                    code: .proxyConnectionFailed, stage: .receiving, host: address?.host,
                    reason: "the proxy \(Redaction.standard.address(proxy)) answers CONNECT "
                        + "without end"))
        }
        return true
    }
}

import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

extension CurlTransfer {
    /// A connection is ready for the request (`CURLOPT_PREREQFUNCTION`).
    ///
    /// libcurl sends a request again, without asking, when a re-used connection turns out to be
    /// dead. Only methods that may be repeated are let through (RFC 9110 §9.2.2); an answer in
    /// between means that it is an authentication round.
    ///
    /// A kept connection that brought something since its last answer is not used: libcurl asks only
    /// whether it has ended, and would take what came for the answer (RFC 9112 §9.2).
    ///
    /// - Parameter ends: The connection's.
    /// - Returns: Whether to send.
    func willSend(_ easy: EasyHandle, _ loop: EventLoop, on ends: ConnectionEnds) -> Bool {
        loop.assertOnLoop()
        lastProgress = loop.now
        guard sends == 0 || wasAnswered || request.method.isIdempotent else {
            failure = TransferError(
                code: .networkConnectionLost, stage: .sending, host: address?.host,
                reason: "the server closed a kept connection while the request was sent, and "
                    + "\(request.method) is not repeated by itself",
                advice: "retry if the server may see the request twice")
            return false
        }
        if ccurl_poller_brings_uncalled(loop.poller, easy.raw, ends.localPort), speaksHTTP1(loop) {
            wantsOtherConnection = true
            return false
        }
        if extras != nil, !mayUseConnection(to: ends.remote, loop.settings) {
            wantsOtherConnection = true
            return false
        }
        if let judge = extras?.trust?.server, !isServerAccepted(easy, judge) { return false }
        sends += 1
        wasAnswered = false
        connection = loop.connections.texts(of: ends)
        localPort = ends.localPort
        if link == nil, address?.queue.version == .unknown { loop.learnVersion(from: self, easy) }
        if extras != nil, !noteSend(easy, loop) { return false }
        // libcurl forgets a pause that came before it had a connection.
        if isPaused { loop.pause(self, ccurl_pause_all, for: pauses) }
        return true
    }

    /// How many challenges of one transfer libcurl answers: two steps of NTLM each for a proxy and
    /// for a server, and nonces that were too old.
    private static var mostAnsweredChallenges: Int { 8 }

    /// What is special about the request goes out with it.
    ///
    /// - Returns: Whether to send.
    private func noteSend(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        if let challenge = heldHead {
            heldHead = nil
            answeredChallenges += 1
            guard answeredChallenges <= Self.mostAnsweredChallenges else {
                return fail(endlessChallenges(challenge))
            }
            handler?.transfer(self, didUse: challenge, turn: loop.turn)
        }
        if easy.isTunnelled { easy.socketsAtSend = easy.opener.pointee.opened }
        // Of a connection that it hands over, libcurl tells nothing any more.
        if link != nil, let connection = ccurl_get_ssl(easy.raw) {
            tls = TLSConnection.agreement(of: connection)
        }
        return true
    }

    /// A server can call every answer too late (`stale=true`), for ever.
    private func endlessChallenges(_ challenge: HTTPResponse) -> TransferError {
        let isProxy = challenge.statusCode == 407
        return TransferError(
            code: .badServerResponse, stage: .receiving, host: address?.host,
            reason: "the \(isProxy ? "proxy" : "server") asked for credentials once more "
                + "(\(challenge.statusCode)) after \(Self.mostAnsweredChallenges) answers, and "
                + "refused none of them")
    }

    /// Whether nobody may speak on a kept connection but who is asked, which streams of HTTP/2 do.
    private func speaksHTTP1(_ loop: EventLoop) -> Bool {
        guard let address else { return false }
        switch address.queue.version {
        case .http1: return true
        case .http2: return false
        case .unknown:
            return !address.isSecure
                && loop.settings.configuration.httpVersion != .http2PriorKnowledge
        }
    }

    /// libcurl wants more of the body (`CURLOPT_READFUNCTION`).
    ///
    /// - Returns: How many bytes there are now, or `CURL_READFUNC_PAUSE`; `nil` to end the transfer.
    func fillBody(
        _ buffer: UnsafeMutableRawBufferPointer, _ easy: EasyHandle, _ loop: EventLoop
    ) -> Int? {
        loop.assertOnLoop()
        guard case .reader(let reader) = easy.source else { return nil }
        lastProgress = loop.now
        if reader.mustWait(ready: { loop.post(.bodyReady(self)) }) {
            isBodyAwaited = true
            return Int(CURL_READFUNC_PAUSE)
        }
        if extras != nil { isBodyAwaited = false }
        do throws(TransferError) {
            return try reader.read(into: buffer)
        } catch {
            failure = error
            return nil
        }
    }

    /// libcurl wants the body from its start once more (`CURLOPT_SEEKFUNCTION`).
    func rewindBody(_ easy: EasyHandle) -> Bool {
        loop?.assertOnLoop()
        guard case .reader(let reader) = easy.source else { return false }
        do throws(TransferError) {
            try reader.rewind()
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Bytes have passed (`CURLOPT_XFERINFOFUNCTION`).
    func noteSent(_ count: Int64, _ loop: EventLoop) {
        loop.assertOnLoop()
        guard count != sent else { return }
        sent = count
        lastProgress = loop.now
        reportProgress(loop)
    }
}

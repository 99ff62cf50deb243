import CCurl
import FoundationEssentials
import OutletHTTP
import OutletTLS
import OutletTransport

/// What a write callback returns to make libcurl fail the transfer: any number but the given one.
let refused = 0

extension CurlTransfer {
    /// Processes a complete head.
    ///
    /// - Returns: Whether the transfer continues.
    func receiveHead(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        if easy.isTunnelled, sends == 0 || easy.opener.pointee.opened != easy.socketsAtSend {
            return receiveTunnelHead(easy)
        }
        wasAnswered = true
        guard let head = easy.head.takeHead(url: request.url) else {
            return fail(notHTTP(easy.head.bytes))
        }
        return receive(head, easy, loop)
    }

    /// Processes a status line of HTTP/2, which libcurl makes of an HTTP/2 head.
    ///
    /// From a server that speaks HTTP/1 it would make libcurl send several requests at the same time
    /// on the connection, and take the response to one for that to another.
    ///
    /// - Returns: Whether the transfer continues.
    func beginHTTP2Head(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        let isNegotiated = ccurl_get_ssl(easy.raw).map(TLSConnection.speaksHTTP2) ?? false
        guard isNegotiated || loop.settings.configuration.httpVersion == .http2PriorKnowledge else {
            return fail(
                TransferError(
                    code: .badServerResponse, stage: .receiving, host: address?.host,
                    reason: "the response's status line says HTTP/2, but the connection speaks "
                        + "HTTP/1.1"))
        }
        return true
    }

    /// The error of a response that does not begin with a status line; shows its first bytes.
    func notHTTP(_ bytes: UnsafeRawBufferPointer) -> TransferError {
        TransferError(
            code: .badServerResponse, stage: .receiving, host: address?.host,
            reason: "the response does not begin with an HTTP status line, but with "
                + "'\(HeadFault.shown(bytes))'",
            advice: TransferError.notHTTPAdvice)
    }

    /// Processes a proxy's response to `CONNECT`, on a connection that the request was not sent on
    /// yet.
    ///
    /// Keeps the head of a challenge (407); libcurl handles everything else.
    ///
    /// - Returns: Whether the transfer continues.
    private func receiveTunnelHead(_ easy: EasyHandle) -> Bool {
        loop?.assertOnLoop()
        guard let head = easy.head.takeHead(url: request.url) else { return true }
        let status = easy.head.statusCode
        // Otherwise a proxy could keep the request alive with informational heads.
        if status >= 200 { lastProgress = loop?.now ?? lastProgress }
        guard canAnswer(head) else { return false }
        heldHead = status == 407 ? head : nil
        guard status == 407 else {
            if status >= 200 { tunnelChallenges = 0 }
            return true
        }
        if let fault = easy.head.fault { return fail(malformed(fault, in: responseName)) }
        // libcurl has answered each of them but this one.
        tunnelChallenges += 1
        guard tunnelChallenges <= Self.mostAnsweredChallenges else {
            return fail(endlessChallenges(head))
        }
        return true
    }

    private func malformed(
        _ fault: HeadFault, in place: String = "the response"
    ) -> TransferError {
        TransferError(
            code: .badServerResponse, stage: .receiving, host: address?.host,
            reason: fault.reason(in: place))
    }

    /// The error of a response with malformed trailers; `nil` if they are well-formed.
    func malformedTrailers(_ easy: EasyHandle) -> TransferError? {
        easy.head.trailerFault.map { malformed($0, in: "the trailer section") }
    }

    /// Fails the transfer because a head has too many fields or bytes.
    ///
    /// - Returns: False: the transfer does not continue.
    func refuseHead() -> Bool {
        loop?.assertOnLoop()
        guard let easy, let configuration = loop?.settings.configuration else { return false }
        let isNumber = easy.head.hasTooManyFields
        failure = TransferError(
            code: .headerFieldsExceedMaximum, stage: .receiving, host: address?.host,
            reason: isNumber
                ? "\(responseName) has more than \(configuration.maximumHeaderFields) header fields"
                : "\(responseName)'s header fields are larger than "
                    + "\(configuration.maximumHeaderSize) bytes",
            advice: "raise \(isNumber ? "maximumHeaderFields" : "maximumHeaderSize")")
        return false
    }

    private func receive(_ head: HTTPResponse, _ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        // An intermediary may parse such a head differently, which allows response splitting (RFC
        // 9112 §6.3, RFC 9110 §5.1).
        if let fault = easy.head.fault { return fail(malformed(fault)) }
        guard !hasResponse else { return fail(secondAnswer()) }
        if easy.head.isHTTP2, easy.head.size > easy.largestHTTP2Head {
            return fail(
                TransferError(
                    code: .headerFieldsExceedMaximum, stage: .receiving, host: address?.host,
                    reason: "the response's header fields are larger than "
                        + "\(easy.largestHTTP2Head) bytes, the most that libcurl takes over HTTP/2")
            )
        }
        if easy.head.isInterim { return receiveInterim(head, loop) }
        lastProgress = loop.now
        if let link { return loop.greet(self, link, head) }
        if address?.isSecure == true { watchEnd(easy) }
        guard easy.head.statusCode != 101 else {
            return fail(
                TransferError(
                    code: .badServerResponse, stage: .receiving, host: address?.host,
                    reason: "the response switches protocols (101), but the request asked for none")
            )
        }
        guard easy.head.statusCode != 206 || request.headers["Range"] != nil else {
            return fail(
                TransferError(
                    code: .badServerResponse, stage: .receiving, host: address?.host,
                    reason: "the response is a part (206), but the request asked for no Range"))
        }
        loop.learn(from: self, easy)
        // libcurl keeps a challenge in the handle, even without a credential, and would answer it
        // in the handle's next transfer, which may be another request's. So the handle is reset
        // before that.
        if easy.head.statusCode == 401 || easy.head.statusCode == 407 { easy.isMarked = true }
        if mayBeChallenge(easy.head.statusCode) {
            guard canAnswer(head) else { return false }
            heldHead = head
            return true
        }
        heldHead = nil
        return accept(head, loop)
    }

    /// The error of a response that is followed by another head, or of a request that libcurl would
    /// send again although its response has begun, because the server has ended the stream and
    /// wants HTTP/1.1 (`HTTP_1_1_REQUIRED`, RFC 9113 §7).
    func secondAnswer() -> TransferError {
        loop?.assertOnLoop()
        guard response?.httpVersion == "HTTP/2" else {
            return TransferError(
                code: .badServerResponse, stage: .receiving, host: address?.host,
                reason: "a second response begins after \(received) bytes of the body")
        }
        return TransferError(
            code: .networkConnectionLost, stage: .receiving, host: address?.host,
            reason: "the server broke off its response after \(received) bytes of the body, and "
                + "wants the request again over HTTP/1.1")
    }

    /// The maximum number of informational heads (1xx) before a final one.
    private static var mostInterimHeads: Int { 100 }
    /// The number of informational heads that count as progress.
    private static var progressingInterimHeads: Int { 10 }

    /// Processes an informational head, within limits: otherwise a server could keep a request
    /// alive with them forever.
    private func receiveInterim(_ head: HTTPResponse, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        interimHeads += 1
        if interimHeads <= Self.progressingInterimHeads { lastProgress = loop.now }
        guard interimHeads <= Self.mostInterimHeads else {
            return fail(
                TransferError(
                    code: .badServerResponse, stage: .receiving, host: address?.host,
                    reason: "the server sent more than \(Self.mostInterimHeads) informational "
                        + "heads (1xx) and no final one"))
        }
        return notify(head, loop)
    }

    /// Whether a head may be a challenge that libcurl answers by itself.
    ///
    /// libcurl does not report that. Such a head is the final one only if a body or the end of the
    /// transfer follows.
    private func mayBeChallenge(_ statusCode: Int) -> Bool {
        switch statusCode {
        case 401:
            extras?.answers.map { $0.credential != nil && $0.use != .identifiesOnly } ?? false
        case 407: true
        // libcurl sends the request again without `Expect`.
        case 417: request.headers["Expect"] != nil
        default: false
        }
    }

    /// Whether libcurl may answer the challenges of a head.
    ///
    /// libcurl sends `realm`, `nonce` and `opaque` of a Digest challenge back as received, so they
    /// must not contain control characters.
    private func canAnswer(_ head: HTTPResponse) -> Bool {
        let name = ["WWW-Authenticate", "Proxy-Authenticate"].first { name in
            !head.headers.areAsReceived(name)
                || !head.headers.values(for: name).allSatisfy(isFieldValue)
        }
        guard let name else { return true }
        return fail(
            TransferError(
                code: .badServerResponse, stage: .receiving, host: address?.host,
                reason:
                    "\(responseName)'s \(name) holds a control character, and would be sent back")
        )
    }

    /// Accepts a head as the final one and reports it to the handler.
    ///
    /// - Returns: Whether the transfer continues.
    func accept(_ head: HTTPResponse, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        response = head
        hasResponse = true
        // A server may respond before it has read the whole body. libcurl notices that it should
        // stop sending only if the upload is not paused.
        if bodyWait != .none { loop.post(.bodyReady(self)) }
        if let easy, mayHaveMissedEnd(easy), !isPaused { loop.watch(self) }
        return notify(head, loop)
    }

    /// The announced length of the body in bytes; -1 if it is not known, as for a body that is
    /// decoded.
    private func announcedLength(_ easy: EasyHandle) -> Int64 {
        decoder != nil ? -1 : ccurl_get_offset(easy.raw, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    }

    private func notify(_ head: HTTPResponse, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        guard let handler else { return false }
        return follow(handler.transfer(self, didReceive: head, turn: loop.turn), loop)
    }

    /// Processes a piece of the body.
    ///
    /// - Returns: What the write callback returns to libcurl.
    func receive(
        bodyBytes bytes: UnsafeRawBufferPointer, _ easy: EasyHandle, _ loop: EventLoop
    ) -> Int {
        loop.assertOnLoop()
        // After a pause libcurl still delivers data that it has already read. It has to keep that
        // data, because the observer checks one piece at a time.
        if pauses.contains(.observer) { return Int(CURL_WRITEFUNC_PAUSE) }
        lastProgress = loop.now
        loop.beginEpoch()
        loop.countPiece(of: self)
        if let head = heldHead {
            heldHead = nil
            guard accept(head, loop) else { return refused }
        }
        // libcurl treats a response without a status line as the body of an HTTP/0.9 response.
        guard wasAnswered, hasResponse else { return fail(notHTTP(bytes)) ? bytes.count : refused }
        if received == 0 {
            if easy.headers.facts.acceptsCodings, !findDecoder() { return refused }
            expected = announcedLength(easy)
        }
        if let decoder { return decode(bytes, decoder, easy, loop) }
        return deliver(bytes, easy, loop) ? bytes.count : refused
    }

    /// Delivers a piece of the body, after decoding, or keeps it until its observer has decided.
    ///
    /// - Returns: Whether the transfer continues.
    func deliver(_ bytes: UnsafeRawBufferPointer, _ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        received += Int64(bytes.count)
        if extras != nil {
            guard show(bytes, loop) else { return false }
            if pauses.contains(.observer) {
                heldPiece = Array(bytes)
                return true
            }
        }
        return place(bytes, easy, loop)
    }

    /// Whether the whole body of the request has been sent; false if its length is not known.
    func isBodySent(_ easy: EasyHandle) -> Bool {
        ccurl_get_offset(easy.raw, CURLINFO_SIZE_UPLOAD_T) >= easy.source.length ?? .max
    }

    /// Delivers the piece that was kept for the observer, if there is one.
    ///
    /// - Returns: Whether the transfer continues.
    func deliverHeldPiece(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        guard let piece = heldPiece else { return true }
        heldPiece = nil
        return piece.withUnsafeBytes { place($0, easy, loop) }
    }

    /// Passes a piece of the body to memory, the handler or a file.
    ///
    /// - Returns: Whether the transfer continues.
    private func place(
        _ bytes: UnsafeRawBufferPointer, _ easy: EasyHandle, _ loop: EventLoop
    ) -> Bool {
        loop.assertOnLoop()
        switch delivery {
        case .collect:
            guard received <= loop.settings.configuration.maximumResponseSize else {
                return fail(tooLarge(loop.settings.configuration.maximumResponseSize))
            }
            if !easy.body.hasRoom(for: bytes.count) { easy.body.reserve(likelySize(easy)) }
            guard easy.body.append(bytes) else {
                return fail(
                    TransferError(
                        code: .dataLengthExceedsMaximum, stage: .receiving, host: address?.host,
                        reason: "no memory left for the body after \(received) bytes",
                        advice: "download to a file instead"))
            }
        case .chunks:
            guard let handler,
                follow(handler.transfer(self, didReceive: bytes, turn: loop.turn), loop)
            else { return false }
        case .file:
            do throws(TransferError) {
                try openFile().file.write(bytes)
            } catch {
                return fail(error)
            }
        }
        if reportsProgress { reportProgress(loop) }
        return true
    }

    /// Shows a piece of the body, or its end (no bytes), to the observer if there is one.
    ///
    /// - Returns: Whether the transfer continues.
    private func show(_ bytes: UnsafeRawBufferPointer, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        guard let observer = extras?.answers?.bodyObserver, let response else { return true }
        let decision = observer.transfer(self, isAboutToDeliver: bytes, of: response) { error in
            self.loop?.post(.observed(self, error))
        }
        switch decision {
        case .proceed: return true
        case .wait:
            loop.pauseReceiving(self, for: .observer)
            return true
        case .fail(var error):
            error.host = address?.host
            error.stage = .receiving
            return fail(error)
        }
    }

    /// Whether a transfer that libcurl has finished may end now; false while its body observer has
    /// not decided.
    func mayEnd(_ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        guard failure == nil, extras?.answers?.bodyObserver != nil, observedEnd != .shown else {
            return true
        }
        // The observer has not decided about the last piece.
        guard !pauses.contains(.observer) else {
            observedEnd = .reached
            return false
        }
        observedEnd = .shown
        return !show(UnsafeRawBufferPointer(start: nil, count: 0), loop)
            || !pauses.contains(.observer)
    }

    /// The likely size of the whole body in bytes, up to ``largestReservation``; 0 if nothing is
    /// known.
    private func likelySize(_ easy: EasyHandle) -> Int {
        guard let decoder else { return Int(min(max(0, expected), Self.largestReservation)) }
        let length = ccurl_get_offset(easy.raw, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        guard length > 0, decoder.decoded > 0 else { return 0 }
        // The rest rarely expands exactly as what was decoded so far.
        let size = Double(received) / Double(decoder.decoded) * Double(length) * 1.05
        return Int(min(size, Double(Self.largestReservation)))
    }

    /// The largest size that memory is reserved for at once; beyond it the buffer grows as bytes
    /// arrive.
    private static var largestReservation: Int64 { 64 << 20 }

    private func tooLarge(_ limit: Int64) -> TransferError {
        TransferError(
            code: .dataLengthExceedsMaximum, stage: .receiving, host: address?.host,
            reason: "the body is larger than the limit of \(limit) bytes",
            advice: "raise maximumResponseSize, or download it to a file")
    }

    /// Returns the file that the body is written to, and opens it at first.
    ///
    /// Only a partial response (206) continues the existing file; any other replaces its content.
    func openFile() throws(TransferError) -> FileSink {
        loop?.assertOnLoop()
        if let file { return file }
        guard case .file(let path, let offset) = delivery else {
            throw TransferError(code: .unknown, reason: "the transfer has no file")
        }
        let sink = try FileSink(path: path, offset: response?.statusCode == 206 ? offset : 0)
        file = sink
        return sink
    }

    func reportProgress(_ loop: EventLoop) {
        loop.assertOnLoop()
        let counts = TransferCounts(
            sent: sent, expectedToSend: easy?.source.length ?? -1, received: received,
            expectedToReceive: expected)
        handler?.transfer(self, didProgress: counts, turn: loop.turn)
    }

    private func follow(_ decision: TransferDecision, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        switch decision {
        case .proceed: return true
        case .deliver(let other):
            delivery = other
            return true
        case .pause:
            loop.pause(self, CURLPAUSE_RECV, for: .request)
            return true
        case .cancel:
            if let easy { closeConnection(easy, loop) }
            return fail(.cancelled)
        }
    }

    /// Records an error.
    ///
    /// - Returns: False: the transfer does not continue.
    func fail(_ error: TransferError) -> Bool {
        failure = error
        return false
    }
}

import CCurl
import FoundationEssentials
import OutletHTTP
import OutletTransport

extension EventLoop {
    /// Processes the message that starts a transfer: parses its URL, then starts or queues it.
    func arrive(_ transfer: CurlTransfer) {
        assertOnLoop()
        if let error = closing.error { return fail(transfer, error) }
        transfer.arrived = now
        transfer.lastProgress = now
        do throws(TransferError) {
            guard let url = transfer.request.url else { throw HTTPRequest.noAddress }
            transfer.address = try addresses.address(url.absoluteString)
        } catch {
            return fail(transfer, error)
        }
        enqueue(transfer)
    }

    /// Starts a transfer if there is a place for it; otherwise queues it, or fails it if the queue
    /// is full.
    func enqueue(_ transfer: CurlTransfer) {
        assertOnLoop()
        guard let origin = transfer.address?.queue else { return }
        transfer.phase = .queued
        let request = transfer.request
        let exceedsLimits = request.hasContext && request.context.exceedsLimits
        if admission.enter(origin, exceedsLimits: exceedsLimits) {
            if !begin(transfer) { leave(origin) }
            return
        }
        wait(transfer, in: origin)
    }

    /// Queues a transfer that has no place, or fails it if the queue is full.
    func wait(_ transfer: CurlTransfer, in origin: OriginQueue<CurlTransfer>) {
        assertOnLoop()
        guard shared.waiting.rise(upTo: settings.queueLimit) else {
            if origin.waitsForFirst {
                admission.stopWaitingForFirst(origin)
                admitWaiting()
                return enqueue(transfer)
            }
            return fail(transfer, queueIsFull(transfer))
        }
        transfer.ticket = admission.wait(transfer, origin: origin, priority: transfer.priority)
        limitWait(of: transfer)
    }

    /// Sets the deadline of a transfer without a place.
    ///
    /// Waiting is no progress, so the request's time limit applies, but not while it is suspended.
    /// The limit of the whole transfer always applies.
    func limitWait(of transfer: CurlTransfer) {
        assertOnLoop()
        var due = settings.resourceLimit.map { transfer.arrived + $0 }
        if !transfer.isPaused, let patience = transfer.patience {
            due = min(due ?? .max, transfer.lastProgress + patience)
        }
        if let due { deadlines.set(transfer, to: due) } else { deadlines.remove(transfer) }
    }

    private func queueIsFull(_ transfer: CurlTransfer) -> TransferError {
        TransferError(
            code: .requestQueueFull, stage: .queued, host: transfer.address?.host,
            reason: "\(settings.queueLimit) requests wait for a free connection already, as many "
                + "as maximumQueuedRequests allows",
            advice: "send fewer at a time, or raise maximumQueuedRequests")
    }

    /// Frees a place, and starts the waiting transfers that may start now.
    func leave(_ origin: OriginQueue<CurlTransfer>) {
        assertOnLoop()
        admission.leave(origin)
        admitWaiting()
    }

    /// Starts waiting transfers while there are places.
    func admitWaiting() {
        assertOnLoop()
        while let (next, origin) = admission.next() {
            shared.waiting.fall()
            if !begin(next) { admission.leave(origin) }
        }
    }

    /// Configures an easy handle for a transfer that has a place, and adds it to the multi handle.
    ///
    /// - Returns: False if it does not need the place: it is suspended, or could not be started and
    ///   has already reported its error to the handler.
    private func begin(_ transfer: CurlTransfer) -> Bool {
        assertOnLoop()
        guard let address = transfer.address else { return false }
        if let error = closing.error {
            fail(transfer, error)
            return false
        }
        if transfer.isPaused {
            transfer.phase = .held
            held[transfer.identifier] = transfer
            limitWait(of: transfer)
            return false
        }
        transfer.admitted = now
        transfer.started = now
        do throws(TransferError) {
            guard let easy = pool.take(for: transfer) else {
                throw TransferError(code: .unknown, host: address.host, reason: "no memory left")
            }
            transfer.easy = easy
            try configure(transfer, easy, address)
            let code = curl_multi_add_handle(multi, easy.raw)
            guard code == CURLM_OK else {
                throw TransferError(
                    code: .unknown, host: address.host,
                    reason: String(cString: curl_multi_strerror(code)))
            }
        } catch {
            if let easy = transfer.easy { pool.put(easy, isClean: false) }
            transfer.easy = nil
            fail(transfer, error)
            return false
        }
        transfer.phase = .active
        watch(transfer)
        return true
    }

    private func configure(
        _ transfer: CurlTransfer, _ easy: EasyHandle, _ address: Address
    ) throws(TransferError) {
        assertOnLoop()
        let remaining = settings.resourceLimit.map { $0 - (now - transfer.arrived) }
        if let remaining, remaining < 1000 { throw timedOutInQueue(transfer) }
        let trust = trust(of: transfer, address)
        if address.isSecure {
            transfer.isServerVerified = settings.configuration.verifiesCertificates
            if trust?.server == nil { try settings.checkTrust(for: address) }
            let certificate = try easy.applyIdentity(settings, address)
            easy.applyTrust(trust?.server, certificate: certificate, settings)
        }
        easy.applyAddress(address)
        if !settings.proxies.isEmpty {
            transfer.proxy = try easy.applyProxy(
                for: address, settings, transfer.extras?.answers?.toProxies ?? [:])
            if !transfer.proxy.isEmpty { try transfer.checkTarget(address, settings) }
            if let proxy = settings.secureProxies[transfer.proxy] {
                try secure(proxy, of: transfer, trust, easy)
            }
        }
        easy.applyLimit(remaining)
        let version = settings.version(of: address)
        // Worth waiting for only if the connection is known to be shared.
        easy.applyMultiplexing(waits: version == .http2 && !address.queue.opensSlowly)
        easy.applyReuse(address.queue, version, isDirect: settings.proxies.isEmpty)
        easy.applyVersion(
            settings.configuration.httpVersion,
            excludesHTTP2: !address.isSecure || transfer.needsHTTP1)
        if address.queue.usesConnectionsOnce { easy.applySingleUse() }
        // A proxy does not get the zone.
        if transfer.proxy.isEmpty { try easy.applyScope(of: address) }
        var answer: HTTPHeader?
        if let extras = transfer.extras {
            if let link = extras.link {
                easy.applyConnectOnly()
                link.handshake = try handshake(link.job, address)
                return try checkOptions(of: easy, address)
            }
            if let answers = extras.answers, let credential = answers.credential {
                try check(credential, address)
                answer = digestAnswer(to: answers.challenge, credential, transfer.request, address)
                if answer == nil, answers.use != .identifiesOnly {
                    easy.apply(credential, atOnce: answers.use == .atOnce)
                }
            }
        }
        // Every redirect, retry and authentication attempt is checked here, with all fields that
        // adapters and plugins have added.
        if !transfer.request.isPlainlyValid {
            try transfer.request.checkSending(to: address.host)
        }
        var fields = transfer.request.headers
        if let answer { fields.add(answer) }
        guard easy.applyHeaders(fields, hasBody: transfer.mayHaveBody) else {
            throw TransferError(code: .unknown, host: address.host, reason: "no memory left")
        }
        if transfer.mayHaveBody {
            if version != .http1, !transfer.request.method.isIdempotent {
                easy.applyRepeatsOfRefused()
            }
            try applyBody(of: transfer.request, easy, address)
        } else {
            easy.applyPlainMethod()
        }
        easy.applyBuffers(
            isBulk: isBulk, isLone: pool.inUse == 1 && transfer.isCollected,
            mayBeHTTP2: settings.version(of: address) != .http1)
        if transfer.reportsProgress { easy.applyProgress() }
        try checkOptions(of: easy, address)
    }

    /// Returns the field `Authorization` for a Digest challenge that an earlier transfer
    /// received.
    ///
    /// libcurl does not know that challenge, and would first send the request without credentials
    /// to get one.
    ///
    /// - Returns: `nil` if there is no such challenge, if the request has its own `Authorization`,
    ///   or if the challenge is not supported.
    private func digestAnswer(
        to challenge: AuthenticationChallenge?, _ credential: Credential, _ request: HTTPRequest,
        _ address: Address
    ) -> HTTPHeader? {
        guard let challenge, credential.scheme == .digest, request.headers["Authorization"] == nil
        else { return nil }
        return DigestAnswer(
            to: challenge, credential: credential, method: request.method.rawValue,
            target: address.target)?.field
    }

    /// Makes the judges for the servers of a transfer; `nil` if the session has no server trust
    /// manager.
    private func trust(of transfer: CurlTransfer, _ address: Address) -> TransferTrust? {
        assertOnLoop()
        guard let extras = transfer.extras, let manager = extras.answers?.trustManager else {
            return nil
        }
        let trust = TransferTrust(
            server: !address.isSecure
                ? nil
                : ServerVerifier(
                    manager, host: address.origin.addressWithoutZone, port: address.port,
                    verifier: settings.verifier))
        extras.trust = trust
        return trust
    }

    /// Makes an easy handle verify the certificate of an https proxy.
    private func secure(
        _ proxy: SecureProxy, of transfer: CurlTransfer, _ trust: TransferTrust?,
        _ easy: EasyHandle
    ) throws(TransferError) {
        assertOnLoop()
        let judge = transfer.extras?.answers?.trustManager.flatMap { manager in
            ServerVerifier(
                manager, host: proxy.host, port: proxy.port, verifier: settings.verifier)
        }
        trust?.goesThroughProxy(judgedBy: judge)
        try easy.applyProxyTrust(judge, settings, proxy)
        // For servers without TLS, libcurl 7.88 compares the server's options, not the proxy's, with
        // those of a kept connection.
        if transfer.address?.isSecure == false {
            easy.applyTrust(judge, certificate: nil, settings)
        }
    }

    /// Sets the method and the body, for all but the plainest requests.
    private func applyBody(
        of request: HTTPRequest, _ easy: EasyHandle, _ address: Address
    ) throws(TransferError) {
        assertOnLoop()
        var body = try RequestBody(request.body)
        if let written = easy.headers.facts.contentLength {
            var isStream = false
            if case .stream = request.body { isStream = true }
            try check(written, is: body.length, mayBeLess: isStream, address)
            if let length = Int64(written) { body = body.declared(length) }
        }
        easy.applyBody(request.method, body)
    }

    private func handshake(
        _ job: WebSocketJob, _ address: Address
    ) throws(TransferError) -> WebSocketHandshake {
        if let credential = job.credential { try check(credential, address) }
        return try WebSocketHandshake(
            job.request, target: address.target, host: address.hostField,
            credential: job.credential ?? address.credential, challenge: job.challenge)
    }

    private func checkOptions(
        of easy: EasyHandle, _ address: Address
    ) throws(TransferError) {
        guard let refusal = easy.refusal else { return }
        throw TransferError(
            code: .badRequest, host: address.host,
            reason: "libcurl refuses option \(refusal.option.rawValue): "
                + String(cString: curl_easy_strerror(refusal.code)),
            underlyingCode: Int32(bitPattern: refusal.code.rawValue))
    }

    /// Checks that a credential can be sent.
    ///
    /// - Throws: `TransferError` with code `badRequest`, which says what is wrong with which part.
    private func check(_ credential: Credential, _ address: Address) throws(TransferError) {
        guard let fault = credential.fault else { return }
        throw TransferError(
            code: .badRequest, host: address.host, reason: "the request's credential: \(fault)")
    }

    /// Checks `Content-Length` against the length of a file or a stream; other bodies are checked
    /// earlier.
    ///
    /// - Parameters:
    ///   - written: The value of the field `Content-Length`.
    ///   - length: The length of the body in bytes; `nil` if unknown.
    ///   - mayBeLess: Whether the field may announce less than the whole body.
    /// - Throws: `TransferError` with code `badRequest`.
    private func check(
        _ written: String, is length: Int64?, mayBeLess: Bool, _ address: Address
    ) throws(TransferError) {
        guard let length, let declared = Int64(written), declared != length,
            !mayBeLess || declared > length
        else { return }
        let mismatch = HTTPRequestError.contentLengthMismatch(declared: declared, body: length)
        throw TransferError(
            code: .badRequest, host: address.host, reason: mismatch.description,
            advice: "leave it out: it is added by itself")
    }
}

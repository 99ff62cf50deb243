import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

extension EventLoop {
    /// Processes a transfer that libcurl has finished, and reports its end unless it continues.
    func complete(_ transfer: CurlTransfer, _ easy: EasyHandle, _ code: CURLcode) {
        assertOnLoop()
        var code = code
        if code != CURLE_OK {
            if startAgain(transfer, easy, after: code) { return }
            if transfer.isAnswered(in: code, easy) { code = CURLE_OK }
        }
        if code == CURLE_OK, transfer.failure == nil, let link = transfer.link {
            return shakeHands(transfer, link, easy)
        }
        if code == CURLE_OK {
            settle(transfer, easy)
            if transfer.extras != nil, !transfer.mayEnd(self) { return limitDecision(of: transfer) }
        } else if let judge = transfer.extras?.trust?.refusing, let refusal = judge.refusal {
            transfer.handler?.transfer(transfer, didRefuseServer: refusal)
            transfer.failure = judge.error
        }
        var error = transfer.failure
        if error == nil, code == CURLE_COULDNT_CONNECT { error = transfer.addressFault }
        if error == nil, code != CURLE_OK {
            error = TransferError(code, transfer, easy)
        }
        retire(transfer, easy, error)
    }

    /// Starts a transfer again, now or when there is a stream for it, if its error is no reason to end
    /// it.
    ///
    /// - Returns: Whether it has; if not, the transfer ends.
    private func startAgain(
        _ transfer: CurlTransfer, _ easy: EasyHandle, after code: CURLcode
    ) -> Bool {
        assertOnLoop()
        if transfer.wantsOtherConnection {
            if !transfer.wantsIdleConnection { easy.applyFreshConnection() }
            transfer.wantsIdleConnection = false
            return restart(transfer, easy)
        }
        if transfer.lacksStream,
            code == CURLE_COULDNT_CONNECT || code == CURLE_ABORTED_BY_CALLBACK
        {
            return waitForStream(transfer, easy)
        }
        guard transfer.canStartAgain(after: code, easy, self) else { return false }
        transfer.wasUnprocessed = true
        return restart(transfer, easy)
    }

    /// Starts a transfer again, whose request the server has not processed or not received.
    ///
    /// - Returns: False if that is not possible; the transfer then ends with the error it has.
    func restart(_ transfer: CurlTransfer, _ easy: EasyHandle) -> Bool {
        assertOnLoop()
        transfer.wantsOtherConnection = false
        transfer.sendsBefore = transfer.sends
        transfer.headBytesBefore = 0
        transfer.started = now
        guard rewind(transfer, easy) else { return false }
        transfer.multiplexed?.noteEndOfStream()
        curl_multi_remove_handle(multi, easy.raw)
        vacate(by: easy)
        if transfer.needsHTTP1 {
            easy.applyVersion(settings.configuration.httpVersion, excludesHTTP2: true)
        }
        let code = curl_multi_add_handle(multi, easy.raw)
        guard code != CURLM_OK else { return true }
        transfer.failure = TransferError(
            code: .unknown, host: transfer.address?.host,
            reason: String(cString: curl_multi_strerror(code)))
        return false
    }

    /// Makes the body of a request that was sent before start at its first byte.
    ///
    /// - Returns: Whether it can; if not, `failure` is set.
    private func rewind(_ transfer: CurlTransfer, _ easy: EasyHandle) -> Bool {
        assertOnLoop()
        // Authentication starts from the beginning, too.
        transfer.heldHead = nil
        guard transfer.sends > 0, case .reader = easy.source else { return true }
        return transfer.rewindBody(easy)
    }

    /// Makes a transfer wait again, because its origin has as many connections as its limit allows,
    /// and none of them has a stream left.
    ///
    /// - Returns: False if that is not possible; the transfer then ends with the error it has.
    private func waitForStream(_ transfer: CurlTransfer, _ easy: EasyHandle) -> Bool {
        assertOnLoop()
        transfer.lacksStream = false
        transfer.sendsBefore = transfer.sends
        transfer.headBytesBefore = 0
        guard let origin = transfer.address?.queue, rewind(transfer, easy) else { return false }
        remove(transfer, easy, isClean: false)
        transfer.phase = .queued
        admission.leave(origin, lacksStream: true)
        // Without regard to the limit of the queue, which the transfer has passed already.
        shared.waiting.rise()
        transfer.ticket = admission.wait(
            transfer, origin: origin, priority: transfer.priority, isFirst: true)
        limitWait(of: transfer)
        admitWaiting()
        return true
    }

    /// Takes a transfer out of libcurl.
    private func remove(_ transfer: CurlTransfer, _ easy: EasyHandle, isClean: Bool) {
        assertOnLoop()
        if let connection = transfer.multiplexed {
            transfer.multiplexed = nil
            let isWhole = isClean && (!transfer.mayHaveBody || transfer.isBodySent(easy))
            if !isWhole { connection.noteEndOfStream() }
        }
        curl_multi_remove_handle(multi, easy.raw)
        vacate(by: easy)
        if transfer.isOpener { endOpening(by: transfer, hasConnection: false) }
        deadlines.remove(transfer)
        transfer.easy = nil
        transfer.releaseBody()
        // libcurl may keep in the handle that a stream was refused, and would take the next broken
        // connection for that.
        let mayBeSpent = transfer.sends > 1 || transfer.sends == 1 && !isClean
        let isSpent = mayBeSpent && transfer.speaksHTTP2
        pool.put(easy, isClean: isClean, isSpent: isSpent)
    }

    /// Ends a WebSocket.
    func complete(_ transfer: CurlTransfer, _ error: TransferError?) {
        assertOnLoop()
        guard let easy = transfer.easy else { return }
        var error = error
        if error?.host == nil { error?.host = transfer.address?.host }
        retire(transfer, easy, error)
    }

    /// Completes a transfer that libcurl reports as successful, or sets `failure` if it is not.
    ///
    /// libcurl does not check for a complete head, complete content coding, or valid trailers.
    private func settle(_ transfer: CurlTransfer, _ easy: EasyHandle) {
        assertOnLoop()
        if let head = transfer.heldHead {
            transfer.heldHead = nil
            guard transfer.accept(head, self) else { return }
        }
        guard transfer.hasResponse else {
            // libcurl takes the end of an HTTP/2 stream for a response if it repeats another one.
            let code = transfer.speaksHTTP2 ? CURLE_GOT_NOTHING : nil
            transfer.failure =
                code.map { TransferError($0, transfer, easy) }
                ?? TransferError(
                    code: .networkConnectionLost, stage: .receiving, host: transfer.address?.host,
                    reason: TransferError.cutHead)
            return
        }
        if transfer.extras != nil,
            let error = transfer.unfinishedCoding ?? transfer.missingTicket
                ?? transfer.cutOff(easy)
        {
            transfer.failure = error
            return
        }
        if let error = transfer.malformedTrailers(easy) {
            transfer.failure = error
            return
        }
        guard case .file = transfer.delivery else { return }
        do throws(TransferError) {
            _ = try transfer.openFile()
        } catch {
            transfer.failure = error
        }
    }

    /// Removes a transfer from libcurl and reports its end to its handler.
    ///
    /// The handle's buffer contains a body only if it was collected; others were delivered already.
    private func retire(_ transfer: CurlTransfer, _ easy: EasyHandle, _ error: TransferError?) {
        assertOnLoop()
        let refusal = error != nil && transfer.sends == 0 ? transfer.heldHead : nil
        // The head is the proxy's, which says nothing about the server.
        if refusal != nil { transfer.isServerVerified = false }
        let metrics = metrics(of: transfer, easy)
        let result = TransferResult(
            response: transfer.response.take(),
            body: easy.body.count > 0 ? easy.body.takeData() : nil,
            trailers: easy.head.trailers, error: error,
            metrics: consume metrics,
            tunnelRefusal: refusal.map { TunnelRefusal(head: $0) })
        remove(transfer, easy, isClean: error == nil)
        if let error, error.code != .cancelled, let origin = transfer.address?.queue,
            origin.waitsForFirst
        {
            admission.stopWaitingForFirst(origin)
        }
        // Before the handler is called, so that transfers it starts queue behind the waiting ones.
        if let origin = transfer.giveUpPlace() {
            leave(origin)
            if !origin.portsWithUnsentEnds.isEmpty { endUnusedConnections(of: origin) }
        } else {
            transfer.address?.queue.figures.webSockets -= 1
        }
        let couldStartInline = canStartInline
        canStartInline = !isOnCaller
        transfer.finish(result, turn: turn)
        canStartInline = couldStartInline
    }

    /// Ends the connections of an origin on which libcurl has not sent the ends of cancelled streams, if
    /// no transfer will use them soon: the server would go on.
    private func endUnusedConnections(of origin: OriginQueue<CurlTransfer>) {
        assertOnLoop()
        guard origin.figures.waiting == 0 else { return }
        let isAwaited = pool.contains {
            $0.address?.queue === origin && $0.sends == $0.sendsBefore && $0.link == nil
        }
        guard !isAwaited else { return }
        for port in origin.takePortsWithUnsentEnds()
        where !pool.contains(where: { $0.sends > 0 && $0.localPort == port }) {
            // Those to Unix sockets have none.
            if port > 0 { ccurl_poller_end_idle(poller, port) }
        }
    }

    /// Ends a transfer in whatever phase it is.
    func end(_ transfer: CurlTransfer, _ error: TransferError) {
        assertOnLoop()
        switch transfer.phase {
        case .posted, .finished: return
        case .queued:
            if let origin = transfer.address?.queue {
                admission.remove(
                    ticket: transfer.ticket, origin: origin, priority: transfer.priority)
                shared.waiting.fall()
                if !origin.portsWithUnsentEnds.isEmpty { endUnusedConnections(of: origin) }
            }
            fail(transfer, error)
        case .held:
            held[transfer.identifier] = nil
            fail(transfer, error)
        case .active:
            guard let easy = transfer.easy else { return }
            var error = error
            error.host = transfer.address?.host
            error.stage = TransferError.Stage(transfer)
            transfer.closeConnection(easy, self, mayBeDead: error.code == .timedOut)
            retire(transfer, easy, error)
        }
    }

    /// Ends a transfer that is not in libcurl.
    func fail(_ transfer: CurlTransfer, _ error: TransferError) {
        assertOnLoop()
        deadlines.remove(transfer)
        if isStarting {
            // The handler must not be called within the call that starts the transfer. It is
            // posted, and fails again when the message is processed.
            transfer.phase = .posted
            _ = mailbox.post(.start(transfer), isDriver: true)
            return
        }
        var metrics = TransferMetrics()
        if transfer.arrived > 0 { metrics.queued = now - transfer.arrived }
        transfer.finish(TransferResult(error: error, metrics: metrics), turn: turn)
    }

    /// Ends all transfers.
    ///
    /// Waiting transfers end when ``leave(_:)`` gives them the freed places.
    func shutDown(_ error: TransferError) {
        assertOnLoop()
        guard closing.shutDown(error, ending: load.value) else { return }
        while let transfer = pool.anyTransfer { end(transfer, error) }
        for transfer in held.values { end(transfer, error) }
    }
}

extension TransferError {
    /// The error of transfers that are started or still run after the transport was shut down.
    static var transportClosed: TransferError {
        TransferError(code: .transportClosed, reason: "the transport was shut down")
    }

    /// The error of transfers that had not ended at the deadline of a shutdown.
    static func cut(after deadline: Duration) -> TransferError {
        TransferError(
            code: .transportClosed,
            reason: "the transport was shut down, and the request had not ended within \(deadline)")
    }
}

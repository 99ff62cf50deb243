import CCurl
import OutletHTTP
import OutletTransport

extension EventLoop {
    /// libcurl has finished a transfer.
    func complete(_ transfer: CurlTransfer, _ easy: EasyHandle, _ code: CURLcode) {
        assertOnLoop()
        if transfer.wantsOtherConnection, restart(transfer, easy) { return }
        if code == CURLE_OK, transfer.failure == nil, let link = transfer.link {
            return shakeHands(transfer, link, easy)
        }
        if code == CURLE_OK {
            settle(transfer, easy)
            if transfer.extras != nil, !transfer.mayEnd(self) { return }
        } else if let judge = transfer.extras?.trust?.refusing, let refusal = judge.refusal {
            transfer.handler?.transfer(transfer, didRefuseServer: refusal)
            transfer.failure = judge.error
        }
        var error = transfer.failure
        if error == nil, code == CURLE_COULDNT_CONNECT { error = transfer.addressFault }
        if error == nil, code != CURLE_OK {
            error = TransferError(
                code, transfer, easy, socketError: ccurl_poller_take_socket_error(poller))
        }
        retire(transfer, easy, error)
    }

    /// Begins a transfer again with a connection of its own; nothing was sent on the one refused.
    ///
    /// - Returns: False when it cannot, and what remains is to say why.
    private func restart(_ transfer: CurlTransfer, _ easy: EasyHandle) -> Bool {
        assertOnLoop()
        transfer.wantsOtherConnection = false
        // An authentication round begins anew, too.
        transfer.heldHead = nil
        if transfer.sends > 0, case .reader = easy.source, !transfer.rewindBody(easy) {
            return false
        }
        curl_multi_remove_handle(multi, easy.raw)
        easy.applyFreshConnection()
        let code = curl_multi_add_handle(multi, easy.raw)
        guard code != CURLM_OK else { return true }
        transfer.failure = TransferError(
            code: .unknown, host: transfer.address?.host,
            reason: String(cString: curl_multi_strerror(code)))
        return false
    }

    /// A WebSocket is over.
    func complete(_ transfer: CurlTransfer, _ error: TransferError?) {
        assertOnLoop()
        guard let easy = transfer.easy else { return }
        var error = error
        if error?.host == nil { error?.host = transfer.address?.host }
        retire(transfer, easy, error)
    }

    /// What remains to be done when libcurl is content.
    private func settle(_ transfer: CurlTransfer, _ easy: EasyHandle) {
        assertOnLoop()
        if let head = transfer.heldHead {
            transfer.heldHead = nil
            guard transfer.accept(head, self) else { return }
        }
        guard transfer.hasResponse else {
            transfer.failure = TransferError(
                code: .networkConnectionLost, stage: .receiving, host: transfer.address?.host,
                reason: "the server closed the connection inside the head of its answer")
            return
        }
        if transfer.extras != nil,
            let error = transfer.unfinishedCoding ?? transfer.missingTicket
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

    /// Takes a transfer out of libcurl and tells its handler how it ended.
    ///
    /// Only collected bodies are in the handle's buffer; the others have gone where they belong.
    private func retire(_ transfer: CurlTransfer, _ easy: EasyHandle, _ error: TransferError?) {
        assertOnLoop()
        let refusal = error != nil && transfer.sends == 0 ? transfer.heldHead : nil
        let metrics = metrics(of: transfer, easy)
        let result = TransferResult(
            response: transfer.response.take(),
            body: easy.body.count > 0 ? easy.body.takeData() : nil,
            trailers: easy.head.trailers, error: error,
            metrics: metrics,
            tunnelRefusal: refusal.map { TunnelRefusal(head: $0) })
        curl_multi_remove_handle(multi, easy.raw)
        deadlines.remove(transfer)
        transfer.easy = nil
        transfer.letGoOfBody()
        pool.put(easy, isClean: error == nil)
        if let error, error.code != .cancelled, let origin = transfer.address?.queue,
            origin.waitsForFirst
        {
            admission.stopWaitingForFirst(origin)
        }
        // Before the handler is called: transfers that it starts queue behind the waiting ones.
        if let origin = transfer.giveUpPlace() {
            leave(origin)
        } else {
            transfer.address?.queue.figures.webSockets -= 1
        }
        let couldStartInline = canStartInline
        canStartInline = !isOnCaller
        transfer.finish(result, turn: turn)
        canStartInline = couldStartInline
    }

    /// Ends a transfer from outside, wherever it is.
    func end(_ transfer: CurlTransfer, _ error: TransferError) {
        assertOnLoop()
        switch transfer.phase {
        case .posted, .finished: return
        case .queued:
            if let origin = transfer.address?.queue {
                admission.remove(
                    ticket: transfer.ticket, origin: origin, priority: transfer.priority)
                shared.waiting.fall()
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
            retire(transfer, easy, error)
        }
    }

    /// Ends a transfer that libcurl has not seen.
    func fail(_ transfer: CurlTransfer, _ error: TransferError) {
        assertOnLoop()
        deadlines.remove(transfer)
        if isStarting {
            // It fails once more, when nobody of the user's is in the middle of something.
            transfer.phase = .posted
            _ = mailbox.post(.start(transfer), isDriver: true)
            return
        }
        var metrics = TransferMetrics()
        if transfer.arrived > 0 { metrics.queued = now - transfer.arrived }
        transfer.finish(TransferResult(error: error, metrics: metrics), turn: turn)
    }

    /// Ends everything; those that wait for a place are reached through the places that fall free.
    func shutDown(_ error: TransferError) {
        assertOnLoop()
        guard !isShutDown else { return }
        isShutDown = true
        shutDownError = error
        cutCount = load.value
        while let transfer = pool.anyTransfer { end(transfer, error) }
        for transfer in held.values { end(transfer, error) }
    }
}

extension TransferError {
    /// The transport takes no more requests.
    static var transportClosed: TransferError {
        TransferError(code: .transportClosed, reason: "the transport was shut down")
    }

    /// A transfer had not ended when the time was over that its transport was given to shut down.
    static func cut(after deadline: Duration) -> TransferError {
        TransferError(
            code: .transportClosed,
            reason: "the transport was shut down, and the request had not ended within \(deadline)")
    }
}

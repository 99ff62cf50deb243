import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

/// Pauses, time limits, and learning the HTTP version of origins.
extension EventLoop {
    // MARK: Pauses

    /// Pauses an active transfer; may be called in its callbacks.
    ///
    /// - Parameters:
    ///   - directions: The bits for `curl_easy_pause`.
    ///   - reasons: Added to the transfer's pauses; it continues when none is left.
    func pause(_ transfer: CurlTransfer, _ directions: Int32, for reasons: PauseReasons) {
        assertOnLoop()
        guard let easy = transfer.easy else { return }
        transfer.pauses.formUnion(reasons)
        // libcurl has finished the transfer, which has a deadline only for its body observer.
        guard transfer.observedEnd == .ahead else { return }
        if let origin = transfer.address?.queue, origin.waitsForFirst {
            admission.stopWaitingForFirst(origin)
            hasNewRoom = true
        }
        if transfer.isOpener { endOpening(by: transfer, hasConnection: false) }
        if let link = transfer.link {
            if directions == ccurl_pause_all { link.isSuspended = true }
            if !link.isConnected { deadlines.remove(transfer) }
            return
        }
        deadlines.remove(transfer)
        // libcurl refuses this without a connection; `willSend()` applies it later.
        transfer.isPauseApplied = curl_easy_pause(easy.raw, directions) == CURLE_OK
        if transfer.isPauseApplied { transfer.wasSuspended = true }
    }

    /// Pauses receiving in a callback; also sending, if the body has been sent.
    ///
    /// While only receiving is paused, libcurl 7.88 reads on once after each piece, and keeps what it
    /// has read: more and more, which it copies for each piece.
    func pauseReceiving(_ transfer: CurlTransfer, for reason: PauseReasons) {
        assertOnLoop()
        let hasSent = transfer.link == nil && transfer.easy.map(transfer.isBodySent) ?? false
        pause(transfer, hasSent ? ccurl_pause_all : CURLPAUSE_RECV, for: reason)
    }

    /// Suspends a transfer in whatever phase it is, because the user has called `suspend()`.
    func suspend(_ transfer: CurlTransfer) {
        assertOnLoop()
        switch transfer.phase {
        case .posted, .held, .finished: return
        case .queued:
            transfer.pauses.insert(.request)
            limitWait(of: transfer)
        case .active: pause(transfer, ccurl_pause_all, for: .request)
        }
    }

    /// Removes one reason for a pause; the transfer continues if no other is left.
    func resume(_ transfer: CurlTransfer, after reason: PauseReasons) {
        assertOnLoop()
        guard transfer.pauses.remove(reason) != nil else { return }
        // The end of a turn is no progress: one comes soon for a peer that sends without end.
        if reason != .turn { transfer.lastProgress = now }
        guard !transfer.isPaused else { return }
        switch transfer.phase {
        case .posted, .finished: return
        case .queued: limitWait(of: transfer)
        case .held:
            held[transfer.identifier] = nil
            enqueue(transfer)
        case .active:
            guard let easy = transfer.easy else { return }
            // libcurl has finished the transfer, and its body observer has decided.
            if transfer.observedEnd != .ahead { return complete(transfer, easy, CURLE_OK) }
            if let link = transfer.link {
                link.isSuspended = false
                return link.isConnected ? advance(transfer, link) : watch(transfer)
            }
            watch(transfer)
            guard transfer.isPauseApplied else { return }
            transfer.isPauseApplied = false
            unpause(transfer, easy)
        }
    }

    /// Makes libcurl read and send again.
    private func unpause(_ transfer: CurlTransfer, _ easy: EasyHandle) {
        assertOnLoop()
        // libcurl delivers the data it has kept within this call, so it may fail as any callback
        // may.
        let code = curl_easy_pause(easy.raw, CURLPAUSE_CONT)
        guard code != CURLE_OK else { return }
        // CURLE_BAD_FUNCTION_ARGUMENT means that the handle has no connection: libcurl reports the
        // transfer's end next, or tries another connection. After the head it can also mean that a
        // line of the trailers is no field; libcurl does not report the transfer's end then.
        if code == CURLE_BAD_FUNCTION_ARGUMENT {
            guard transfer.hasResponse else { return }
            _ = collect()
            guard transfer.easy === easy, transfer.phase == .active else { return }
        }
        complete(transfer, easy, code)
    }

    /// Processes the decision of a body observer that had asked the transfer to wait.
    ///
    /// - Parameter error: Ends the transfer; `nil` lets it continue.
    func observed(_ transfer: CurlTransfer, _ error: TransferError?) {
        assertOnLoop()
        guard transfer.pauses.contains(.observer) else { return }
        if let error { return end(transfer, error) }
        guard let easy = transfer.easy else { return }
        guard transfer.deliverHeldPiece(easy, self) else {
            return end(transfer, transfer.failure ?? .cancelled)
        }
        guard transfer.observedEnd != .ahead else { return resume(transfer, after: .observer) }
        transfer.pauses.remove(.observer)
        // A suspended transfer ends when it is resumed.
        if !transfer.isPaused { complete(transfer, easy, CURLE_OK) }
    }

    /// Sets the deadline of a transfer that libcurl has finished, but whose body observer has not
    /// decided: the limit of the whole transfer, which libcurl enforces before.
    func limitDecision(of transfer: CurlTransfer) {
        assertOnLoop()
        guard let limit = settings.resourceLimit else { return deadlines.remove(transfer) }
        deadlines.set(transfer, to: transfer.arrived + limit)
    }

    /// Continues sending, because the stream of the request's body has more data.
    func sendMore(of transfer: CurlTransfer) {
        assertOnLoop()
        guard transfer.phase == .active, !transfer.isPaused, let easy = transfer.easy else {
            return
        }
        unpause(transfer, easy)
    }

    /// Turns on progress reports for a transfer.
    func reportProgress(of transfer: CurlTransfer) {
        assertOnLoop()
        transfer.reportsProgress = true
        transfer.easy?.applyProgress()
    }

    // MARK: Time limits

    /// Sets the deadline of an active transfer: the time limit without progress, and the time that
    /// others wait for it to show what its origin speaks.
    func watch(_ transfer: CurlTransfer) {
        assertOnLoop()
        var due = transfer.patience.map { transfer.lastProgress + $0 }
        if let patience = transfer.patience, let easy = transfer.easy, easy.source.length != 0,
            !transfer.isBodySent(easy)
        {
            due = min(due ?? .max, now + patience / Self.looksAtBody)
        }
        if let easy = transfer.easy, transfer.mayHaveMissedEnd(easy) {
            due = min(due ?? .max, now + max(Self.timeToEnd, now - transfer.lastProgress))
        }
        if transfer.isOpener || transfer.address?.queue.waitsForFirst == true {
            due = min(due ?? .max, transfer.admitted + Self.timeToGoFirst)
        }
        if let due { deadlines.set(transfer, to: due) } else { deadlines.remove(transfer) }
    }

    /// How often the loop looks within the time limit whether more of a body has been sent.
    ///
    /// libcurl calls no callback while it sends a body from memory, or what it has read of another.
    private static var looksAtBody: Int64 { 4 }

    /// After how long the loop looks first whether libcurl has missed the end of a response, in µs; each
    /// further time takes twice as long.
    private static var timeToEnd: Int64 { 20_000 }

    /// How long a server whose response is complete may take no more of the request's body until the
    /// transfer ends, in µs.
    private static var timeToTake: Int64 { 500_000 }

    /// How long other transfers wait for the first one to show which HTTP version the origin
    /// speaks, or for one to open a connection, in µs.
    private static var timeToGoFirst: Int64 { 1_000_000 }

    /// Makes others wait for the connection which a transfer opens, for a limited time; may be called in
    /// callbacks.
    func beginOpening(by transfer: CurlTransfer) {
        assertOnLoop()
        transfer.isOpener = true
        // Suspended transfers have no deadline.
        if transfer.isPaused { return endOpening(by: transfer, hasConnection: false) }
        let due = now + Self.timeToGoFirst
        guard transfer.deadlineIndex < 0 || due < transfer.deadline else { return }
        deadlines.set(transfer, to: due)
    }

    /// Ends the wait of others for the connection which a transfer opens; may be called in callbacks.
    ///
    /// - Parameter hasConnection: Whether it has made the connection.
    func endOpening(by transfer: CurlTransfer, hasConnection: Bool) {
        assertOnLoop()
        transfer.isOpener = false
        guard let origin = transfer.address?.queue else { return }
        admission.endOpening(origin, hasConnection: hasConnection)
        hasNewRoom = true
    }

    /// Processes all transfers whose deadlines have passed.
    func expire() {
        assertOnLoop()
        while let transfer = deadlines.first, transfer.deadline <= now {
            switch transfer.phase {
            case .active: checkProgress(transfer)
            default:
                end(transfer, timedOutInQueue(transfer))
            }
        }
    }

    /// The error of a transfer that reached its time limit before it got a place.
    func timedOutInQueue(_ transfer: CurlTransfer) -> TransferError {
        assertOnLoop()
        let stage = TransferError.Stage.queued
        if let limit = settings.resourceLimit, transfer.arrived + limit - 1000 <= now {
            return TransferError(
                code: .timedOut, stage: stage, host: transfer.address?.host,
                reason: "timed out while \(stage.activity): the limit of "
                    + "\(Double(limit) / 1_000_000) s for the whole request has passed",
                advice: "raise timeoutIntervalForResource")
        }
        if let origin = transfer.address?.queue, origin.waitsForFirst || origin.opener != nil {
            return TransferError(
                code: .timedOut, stage: stage, host: transfer.address?.host,
                reason: "timed out while waiting for the connection that another request to the "
                    + "server is making",
                advice: "raise timeoutIntervalForRequest")
        }
        return TransferError(
            code: .timedOut, stage: stage, host: transfer.address?.host,
            reason: "timed out while \(stage.activity)",
            advice: "send fewer requests at a time, or raise httpMaximumConnectionsPerHost")
    }

    /// Starts the transfers that wait for the first one of their origin, or for one to open a
    /// connection.
    private func stopWaiting(for transfer: CurlTransfer) {
        assertOnLoop()
        if let origin = transfer.address?.queue, origin.waitsForFirst {
            admission.stopWaitingForFirst(origin)
            admitWaiting()
        }
        if transfer.isOpener {
            endOpening(by: transfer, hasConnection: false)
            transfer.address?.queue.noteSlowOpening()
            makeOthersOpen(insteadOf: transfer)
            admitWaiting()
        }
    }

    /// Lets transfers that wait in libcurl for the connection which another one makes
    /// (`CURLOPT_PIPEWAIT`) make their own, because that takes too long.
    private func makeOthersOpen(insteadOf opener: CurlTransfer) {
        assertOnLoop()
        let waiting = pool.transfers { other in
            other !== opener && other.address?.queue === opener.address?.queue && other.sends == 0
                && other.link == nil
                && other.easy.map { $0.opener.pointee.opened == $0.socketsAtStart } == true
        }
        for other in waiting {
            guard other.phase == .active, let easy = other.easy else { continue }
            easy.applyMultiplexing(waits: false)
            if !restart(other, easy) { end(other, other.failure ?? .cancelled) }
        }
    }

    private func checkProgress(_ transfer: CurlTransfer) {
        assertOnLoop()
        if transfer.admitted + Self.timeToGoFirst <= now { stopWaiting(for: transfer) }
        if let link = transfer.link, link.isConnected { return expire(transfer, link) }
        if let easy = transfer.easy, transfer.observedEnd != .ahead {
            // The error of libcurl's own limit.
            return end(transfer, TransferError(CURLE_OPERATION_TIMEDOUT, transfer, easy))
        }
        guard let easy = transfer.easy else { return deadlines.remove(transfer) }
        let sent = ccurl_get_offset(easy.raw, CURLINFO_SIZE_UPLOAD_T)
        if sent != transfer.bytesSeen {
            transfer.bytesSeen = sent
            transfer.lastProgress = now
        }
        let isQuiet = now - transfer.lastProgress >= Self.timeToEnd
        if isQuiet, transfer.mayHaveMissedEnd(easy), !transfer.isPaused {
            // libcurl looks at the stream only if that changes something.
            _ = curl_easy_pause(easy.raw, ccurl_pause_all)
            unpause(transfer, easy)
            guard transfer.phase == .active, transfer.easy === easy else { return }
            if now - transfer.lastProgress >= Self.timeToTake, transfer.isAnsweredUnread(easy) {
                transfer.closeConnection(easy, self)
                return complete(transfer, easy, CURLE_OK)
            }
        }
        guard let patience = transfer.patience, transfer.lastProgress + patience <= now else {
            return watch(transfer)
        }
        if transfer.isAnsweredUnread(easy) { return complete(transfer, easy, CURLE_OK) }
        let stage = TransferError.Stage(transfer)
        let waited = transfer.waitedFor.map { ", it waited for \($0)" } ?? ""
        end(
            transfer,
            TransferError(
                code: .timedOut,
                reason: "timed out while \(stage.activity): no progress for "
                    + "\(Double(patience) / 1_000_000) s\(waited)",
                advice: "raise timeoutIntervalForRequest"))
    }

    // MARK: Origins

    /// Records the HTTP version that a TLS handshake has negotiated; may be called in callbacks.
    func learnVersion(from transfer: CurlTransfer, _ easy: EasyHandle) {
        assertOnLoop()
        guard let address = transfer.address, let connection = ccurl_get_ssl(easy.raw) else {
            return
        }
        let isShared = TLSConnection.speaksHTTP2(connection) && !address.queue.usesConnectionsOnce
        note(isShared ? .http2 : .http1, of: address)
    }

    private func note(_ version: OriginQueue<CurlTransfer>.Version, of address: Address) {
        admission.learn(version, of: address.queue)
        hasNewRoom = true
        if address.isSecure { shared.learn(address.origin, isHTTP1: version == .http1) }
    }

    /// Records the origin's HTTP version and the TLS parameters of the connection of a response.
    func learn(from transfer: CurlTransfer, _ easy: EasyHandle) {
        assertOnLoop()
        guard let address = transfer.address else { return }
        address.queue.noteAnswer()
        // The limits of HTTP/2 are for connections that are shared.
        let version: OriginQueue<CurlTransfer>.Version =
            easy.head.isHTTP2 && !address.queue.usesConnectionsOnce ? .http2 : .http1
        if version != address.queue.version { note(version, of: address) }
        if address.isSecure, let connection = ccurl_get_ssl(easy.raw) {
            transfer.tls = TLSConnection.agreement(of: connection)
        }
    }
}

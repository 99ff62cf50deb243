import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

/// Pauses, time limits, and what an answer says about its origin.
extension EventLoop {
    // MARK: Pauses

    /// Stops a transfer until it is resumed; may be called in its callbacks.
    func pause(_ transfer: CurlTransfer, _ directions: Int32, for reasons: PauseReasons) {
        assertOnLoop()
        guard let easy = transfer.easy else { return }
        transfer.pauses.formUnion(reasons)
        if let origin = transfer.address?.queue, origin.waitsForFirst {
            admission.stopWaitingForFirst(origin)
            hasNewRoom = true
        }
        if let link = transfer.link {
            if directions == ccurl_pause_all { link.isSuspended = true }
            if !link.isConnected { deadlines.remove(transfer) }
            return
        }
        deadlines.remove(transfer)
        // Refused as long as there is no connection; `willSend()` asks again.
        transfer.isPauseApplied = curl_easy_pause(easy.raw, directions) == CURLE_OK
    }

    /// Stops a transfer on the user's behalf.
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

    /// Lets a transfer go on, unless it is paused for another reason, too.
    func resume(_ transfer: CurlTransfer, after reason: PauseReasons) {
        assertOnLoop()
        guard transfer.pauses.remove(reason) != nil, !transfer.isPaused else { return }
        transfer.lastProgress = now
        switch transfer.phase {
        case .posted, .finished: return
        case .queued: limitWait(of: transfer)
        case .held:
            held[transfer.identifier] = nil
            enqueue(transfer)
        case .active:
            guard let easy = transfer.easy else { return }
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

    /// Has libcurl read and send again.
    private func unpause(_ transfer: CurlTransfer, _ easy: EasyHandle) {
        assertOnLoop()
        // Delivers what libcurl had kept back, so it may fail as any callback may.
        let code = curl_easy_pause(easy.raw, CURLPAUSE_CONT)
        // A bad argument is a handle without a connection: libcurl has the transfer's end ready,
        // or tries again with another connection.
        if code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT {
            complete(transfer, easy, code)
        }
    }

    /// Who observes a body has made up its mind.
    func observed(_ transfer: CurlTransfer, _ error: TransferError?) {
        assertOnLoop()
        guard transfer.pauses.contains(.observer) else { return }
        if let error { return end(transfer, error) }
        guard let easy = transfer.easy, transfer.observedEnd != .ahead else {
            return resume(transfer, after: .observer)
        }
        transfer.pauses.remove(.observer)
        complete(transfer, easy, CURLE_OK)
    }

    /// More of a request's body has been made.
    func sendMore(of transfer: CurlTransfer) {
        assertOnLoop()
        guard transfer.phase == .active, !transfer.isPaused, let easy = transfer.easy else {
            return
        }
        transfer.lastProgress = now
        unpause(transfer, easy)
    }

    /// Counts a transfer's bytes for its handler from now on.
    func reportProgress(of transfer: CurlTransfer) {
        assertOnLoop()
        transfer.reportsProgress = true
        transfer.easy?.applyProgress()
    }

    // MARK: Time limits

    /// Sees to it that an active transfer ends when it makes no progress.
    func watch(_ transfer: CurlTransfer) {
        assertOnLoop()
        var due = transfer.patience.map { transfer.lastProgress + $0 }
        if transfer.address?.queue.waitsForFirst == true {
            due = min(due ?? .max, transfer.admitted + Self.timeToGoFirst)
        }
        if let due { deadlines.set(transfer, to: due) } else { deadlines.remove(transfer) }
    }

    /// How long others wait for the handshake of the one that went first, µs.
    private static var timeToGoFirst: Int64 { 1_000_000 }

    /// Ends the transfers whose time is up.
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

    /// A transfer's time is over before it had a place.
    func timedOutInQueue(_ transfer: CurlTransfer) -> TransferError {
        let stage = TransferError.Stage.queued
        return TransferError(
            code: .timedOut, stage: stage, host: transfer.address?.host,
            reason: "timed out while \(stage.activity)",
            advice: "send fewer requests at a time, or raise httpMaximumConnectionsPerHost")
    }

    private func checkProgress(_ transfer: CurlTransfer) {
        assertOnLoop()
        if let origin = transfer.address?.queue, origin.waitsForFirst {
            admission.stopWaitingForFirst(origin)
            admitWaiting()
        }
        if let link = transfer.link, link.isConnected { return expire(transfer, link) }
        guard let easy = transfer.easy, let patience = transfer.patience else {
            return deadlines.remove(transfer)
        }
        // No callback tells of a body in memory on its way out, so its count is looked at four
        // times within the limit.
        let sent = ccurl_get_offset(easy.raw, CURLINFO_SIZE_UPLOAD_T)
        if sent != transfer.bytesSeen {
            transfer.bytesSeen = sent
            transfer.lastProgress = now
        }
        let due = transfer.lastProgress + patience
        guard due <= now else {
            let isSending = sent < easy.source.length ?? 0
            return deadlines.set(transfer, to: isSending ? min(due, now + patience / 4) : due)
        }
        let stage = TransferError.Stage(transfer)
        end(
            transfer,
            TransferError(
                code: .timedOut,
                reason: "timed out while \(stage.activity): no progress for "
                    + "\(Double(patience) / 1_000_000) s",
                advice: TransferError.raise("timeoutIntervalForRequest", "--timeout")))
    }

    // MARK: Origins

    /// Notes what a handshake says about its origin; may be called in a transfer's callbacks.
    func learnVersion(from transfer: CurlTransfer, _ easy: EasyHandle) {
        assertOnLoop()
        guard let address = transfer.address, let connection = ccurl_get_ssl(easy.raw) else {
            return
        }
        note(TLSConnection.speaksHTTP2(connection) ? .http2 : .http1, of: address)
        hasNewRoom = true
    }

    private func note(_ version: OriginQueue<CurlTransfer>.Version, of address: Address) {
        admission.learn(version, of: address.queue)
        if address.isSecure { shared.learn(address.origin, isHTTP1: version == .http1) }
    }

    /// Notes what an answer says about its origin and its connection.
    func learn(from transfer: CurlTransfer, _ easy: EasyHandle) {
        assertOnLoop()
        guard let address = transfer.address else { return }
        let version: OriginQueue<CurlTransfer>.Version = easy.head.isHTTP2 ? .http2 : .http1
        if version != address.queue.version { note(version, of: address) }
        if address.isSecure, let connection = ccurl_get_ssl(easy.raw) {
            transfer.tls = TLSConnection.agreement(of: connection)
        }
    }
}

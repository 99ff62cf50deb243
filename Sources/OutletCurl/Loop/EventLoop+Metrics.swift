import CCurl
import OutletHTTP
import OutletTransport

extension EventLoop {
    /// Returns the metrics of a transfer that has finished or is about to be removed.
    func metrics(of transfer: CurlTransfer, _ easy: EasyHandle) -> TransferMetrics {
        let measures = ccurl_measure(easy.raw, transfer.sends > 0 && !transfer.mayHaveBody)
        var metrics = TransferMetrics(
            connection: connections.texts(of: transfer)
                ?? ConnectionTexts.texts(measures, of: transfer))
        metrics.isReusedConnection = transfer.sends > 0 && measures.num_connects == 0
        if !metrics.isReusedConnection {
            metrics.nameLookup = measures.namelookup_time_t
            metrics.connect = measures.connect_time_t
            metrics.secureConnect = measures.appconnect_time_t
        }
        metrics.preTransfer = measures.pretransfer_time_t
        metrics.firstByte = measures.starttransfer_time_t
        metrics.total = measures.total_time_t
        if transfer.sentAt > 0 || transfer.started != transfer.admitted {
            metrics.correct(of: transfer, easy)
        }
        metrics.queued = transfer.admitted - transfer.arrived
        metrics.requestHeaderBytes = Int64(measures.request_size - transfer.headBytesBefore)
        if transfer.mayHaveBody {
            metrics.requestBodyBytes = measures.size_upload_t
            metrics.isRequestBodyCut = easy.source.isCut
        }
        metrics.responseHeaderBytes = Int64(measures.header_size)
        metrics.responseBodyBytes = measures.size_download_t
        if let link = transfer.link { metrics.count(link, transfer) }
        return metrics
    }
}

extension TransferMetrics {
    /// Corrects libcurl's times of a transfer with a body, or one that has started again.
    ///
    /// libcurl 7.88 takes the first byte of the request's body for that of the response, adds up the times
    /// of repeats, and forgets what was before the transfer started again.
    fileprivate mutating func correct(of transfer: CurlTransfer, _ easy: EasyHandle) {
        let delay = transfer.started - transfer.admitted
        if nameLookup > 0 { nameLookup += delay }
        if connect > 0 { connect += delay }
        if secureConnect > 0 { secureConnect += delay }
        if preTransfer > 0 { preTransfer += delay }
        if firstByte > 0 { firstByte += delay }
        total += delay
        if transfer.sentAt > 0 {
            if transfer.sends > 1 { preTransfer = transfer.sentAt - transfer.admitted }
            let begin = easy.head.beginning
            firstByte = begin > 0 ? preTransfer + begin - transfer.sentAt : 0
        }
        firstByte = min(firstByte, total)
        preTransfer = min(preTransfer, firstByte > 0 ? firstByte : total)
        let end = preTransfer > 0 ? preTransfer : total
        nameLookup = min(nameLookup, end)
        connect = min(connect, end)
        secureConnect = min(secureConnect, end)
    }

    /// Sets the values that libcurl cannot know, because it did not transfer the WebSocket's bytes.
    fileprivate mutating func count(_ link: WebSocketLink, _ transfer: CurlTransfer) {
        guard link.isConnected else { return }
        httpVersion = "HTTP/1.1"
        let head = Int64(link.handshake?.head.count ?? 0)
        preTransfer = link.headAt - transfer.admitted
        firstByte = link.firstByteAt > 0 ? link.firstByteAt - transfer.admitted : 0
        total = ccurl_now_us() - transfer.admitted
        requestHeaderBytes = min(head, link.bytesSent)
        requestBodyBytes = link.bytesSent - requestHeaderBytes
        responseHeaderBytes = link.headBytesReceived
        responseBodyBytes = link.bytesReceived - link.headBytesReceived
    }
}

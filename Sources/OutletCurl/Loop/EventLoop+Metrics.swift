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
        metrics.queued = transfer.admitted - transfer.arrived
        metrics.requestHeaderBytes = Int64(measures.request_size)
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

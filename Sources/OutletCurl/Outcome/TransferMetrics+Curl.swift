import CCurl
import OutletHTTP
import OutletSession

extension TransferMetrics {
    /// Asks a handle that has finished, or is about to be taken out, for all it has measured.
    init(
        _ transfer: CurlTransfer, _ easy: EasyHandle, _ connections: inout ConnectionTexts
    ) {
        self.init()
        let raw = easy.raw
        isReusedConnection = transfer.sends > 0 && ccurl_get_long(raw, CURLINFO_NUM_CONNECTS) == 0
        if !isReusedConnection {
            nameLookup = ccurl_get_offset(raw, CURLINFO_NAMELOOKUP_TIME_T)
            connect = ccurl_get_offset(raw, CURLINFO_CONNECT_TIME_T)
            secureConnect = ccurl_get_offset(raw, CURLINFO_APPCONNECT_TIME_T)
        }
        preTransfer = ccurl_get_offset(raw, CURLINFO_PRETRANSFER_TIME_T)
        firstByte = ccurl_get_offset(raw, CURLINFO_STARTTRANSFER_TIME_T)
        total = ccurl_get_offset(raw, CURLINFO_TOTAL_TIME_T)
        queued = transfer.admitted - transfer.arrived
        requestHeaderBytes = Int64(ccurl_get_long(raw, CURLINFO_REQUEST_SIZE))
        if transfer.job.request.mayHaveBody {
            requestBodyBytes = ccurl_get_offset(raw, CURLINFO_SIZE_UPLOAD_T)
        }
        responseHeaderBytes = Int64(ccurl_get_long(raw, CURLINFO_HEADER_SIZE))
        responseBodyBytes = ccurl_get_offset(raw, CURLINFO_SIZE_DOWNLOAD_T)
        connection = connections.texts(transfer, raw)
        if let link = transfer.link { count(link, transfer) }
    }

    /// What libcurl cannot know of a WebSocket's bytes.
    private mutating func count(_ link: WebSocketLink, _ transfer: CurlTransfer) {
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

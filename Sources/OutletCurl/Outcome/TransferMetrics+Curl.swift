import CCurl
import OutletSession

extension TransferMetrics {
    /// Asks a handle that has finished, or is about to be taken out, for all it has measured.
    init(_ transfer: CurlTransfer, _ easy: EasyHandle) {
        self.init()
        let raw = easy.raw
        nameLookup = ccurl_get_offset(raw, CURLINFO_NAMELOOKUP_TIME_T)
        connect = ccurl_get_offset(raw, CURLINFO_CONNECT_TIME_T)
        secureConnect = ccurl_get_offset(raw, CURLINFO_APPCONNECT_TIME_T)
        preTransfer = ccurl_get_offset(raw, CURLINFO_PRETRANSFER_TIME_T)
        firstByte = ccurl_get_offset(raw, CURLINFO_STARTTRANSFER_TIME_T)
        total = ccurl_get_offset(raw, CURLINFO_TOTAL_TIME_T)
        queued = transfer.admitted - transfer.arrived
        requestHeaderBytes = Int64(ccurl_get_long(raw, CURLINFO_REQUEST_SIZE))
        requestBodyBytes = ccurl_get_offset(raw, CURLINFO_SIZE_UPLOAD_T)
        responseHeaderBytes = Int64(ccurl_get_long(raw, CURLINFO_HEADER_SIZE))
        responseBodyBytes = ccurl_get_offset(raw, CURLINFO_SIZE_DOWNLOAD_T)
        isReusedConnection = transfer.sends > 0 && ccurl_get_long(raw, CURLINFO_NUM_CONNECTS) == 0
        httpVersion =
            switch ccurl_get_long(raw, CURLINFO_HTTP_VERSION) {
            case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
            case Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1"
            case Int(CURL_HTTP_VERSION_2_0): "HTTP/2"
            case Int(CURL_HTTP_VERSION_3): "HTTP/3"
            default: ""
            }
        remoteAddress = Self.address(raw, CURLINFO_PRIMARY_IP, CURLINFO_PRIMARY_PORT)
        localAddress = Self.address(raw, CURLINFO_LOCAL_IP, CURLINFO_LOCAL_PORT)
        tls = transfer.tls
        proxy = transfer.proxy
    }

    private static func address(
        _ raw: UnsafeMutableRawPointer, _ ip: CURLINFO, _ port: CURLINFO
    ) -> String {
        guard let text = ccurl_get_string(raw, ip), text.pointee != 0 else { return "" }
        let host = String(cString: text)
        return host.utf8.contains(UInt8(ascii: ":"))
            ? "[\(host)]:\(ccurl_get_long(raw, port))" : "\(host):\(ccurl_get_long(raw, port))"
    }
}

import CCurl
import Glibc
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
        let number = ccurl_get_long(raw, port)
        // An interpolation would cost as much as all the other figures together.
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
            let isV6 = strchr(text, Int32(UInt8(ascii: ":"))) != nil
            var count = 0
            func add(_ byte: UInt8) {
                guard count < buffer.count else { return }
                buffer[count] = byte
                count += 1
            }
            if isV6 { add(UInt8(ascii: "[")) }
            var next = text
            while next.pointee != 0 {
                add(UInt8(bitPattern: next.pointee))
                next += 1
            }
            if isV6 { add(UInt8(ascii: "]")) }
            add(UInt8(ascii: ":"))
            var unit = 10_000
            while unit > 1, number < unit { unit /= 10 }
            while unit > 0 {
                add(UInt8(truncatingIfNeeded: 0x30 + number / unit % 10))
                unit /= 10
            }
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}

import CCurl
import Glibc
import OutletHTTP
import OutletSession

/// The texts of metrics about connections, made once for each connection.
///
/// A table by the own port: a connection that is used again finds its texts, others replace them.
struct ConnectionTexts {
    fileprivate struct Entry {
        var remotePort = -1
        var localPort = -1
        var version = 0
        /// As libcurl writes them, ended by NUL.
        var remote: ContiguousArray<CChar> = [0]
        var local: ContiguousArray<CChar> = [0]
        var texts = Boxed(TransferMetrics.Connection())
    }

    private static let size = 128
    private var entries = ContiguousArray(repeating: Entry(), count: size)
    private let none = Boxed(TransferMetrics.Connection())

    /// What a handle that has finished, or is about to be taken out, says about its connection.
    mutating func texts(
        _ transfer: CurlTransfer, _ raw: UnsafeMutableRawPointer
    ) -> Boxed<TransferMetrics.Connection> {
        let version = ccurl_get_long(raw, CURLINFO_HTTP_VERSION)
        guard let remote = ccurl_get_string(raw, CURLINFO_PRIMARY_IP),
            let local = ccurl_get_string(raw, CURLINFO_LOCAL_IP), remote.pointee != 0
        else {
            guard version != 0 || !transfer.tls.isEmpty || !transfer.proxy.isEmpty else {
                return none
            }
            return make(transfer, version, remote: "", local: "")
        }
        let remotePort = ccurl_get_long(raw, CURLINFO_PRIMARY_PORT)
        let localPort = ccurl_get_long(raw, CURLINFO_LOCAL_PORT)
        // The kernel gives clients every second port.
        let index = (localPort >> 1) & (Self.size - 1)
        if entries[index].isSame(remote, remotePort, local, localPort, version),
            entries[index].texts.value.tls == transfer.tls,
            entries[index].texts.value.proxy == transfer.proxy
        {
            return entries[index].texts
        }
        let texts = make(
            transfer, version, remote: Self.address(remote, remotePort),
            local: Self.address(local, localPort))
        entries[index] = Entry(
            remotePort: remotePort, localPort: localPort, version: version,
            remote: Self.copy(remote), local: Self.copy(local), texts: texts)
        return texts
    }

    private func make(
        _ transfer: CurlTransfer, _ version: Int, remote: String, local: String
    ) -> Boxed<TransferMetrics.Connection> {
        var connection = TransferMetrics.Connection()
        connection.httpVersion =
            switch version {
            case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
            case Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1"
            case Int(CURL_HTTP_VERSION_2_0): "HTTP/2"
            case Int(CURL_HTTP_VERSION_3): "HTTP/3"
            default: ""
            }
        connection.remoteAddress = remote
        connection.localAddress = local
        connection.tls = transfer.tls
        connection.proxy = transfer.proxy
        return Boxed(connection)
    }

    private static func copy(_ text: UnsafePointer<CChar>) -> ContiguousArray<CChar> {
        ContiguousArray(UnsafeBufferPointer(start: text, count: strlen(text) + 1))
    }

    private static func address(_ ip: UnsafePointer<CChar>, _ port: Int) -> String {
        let text = String(cString: ip)
        guard !text.isEmpty else { return "" }
        return text.contains(":") ? "[\(text)]:\(port)" : "\(text):\(port)"
    }
}

extension ConnectionTexts.Entry {
    fileprivate func isSame(
        _ remote: UnsafePointer<CChar>, _ remotePort: Int,
        _ local: UnsafePointer<CChar>, _ localPort: Int, _ version: Int
    ) -> Bool {
        self.localPort == localPort && self.remotePort == remotePort && self.version == version
            && Self.isSame(self.remote, remote) && Self.isSame(self.local, local)
    }

    private static func isSame(
        _ known: ContiguousArray<CChar>, _ text: UnsafePointer<CChar>
    ) -> Bool {
        known.withUnsafeBufferPointer { known in
            known.baseAddress.map { strcmp($0, text) == 0 } ?? false
        }
    }
}

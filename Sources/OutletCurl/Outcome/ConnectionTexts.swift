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
        _ measures: ccurl_measures, of transfer: CurlTransfer
    ) -> Boxed<TransferMetrics.Connection> {
        guard let remote = measures.primary_ip, let local = measures.local_ip, remote.pointee != 0
        else {
            guard measures.http_version != 0 || !none.value.isSame(as: transfer) else {
                return none
            }
            return Self.make(measures.http_version, remote: "", local: "", transfer)
        }
        // The kernel gives clients every second port.
        let index = (measures.local_port >> 1) & (Self.size - 1)
        if entries[index].isSame(measures, remote, local),
            entries[index].texts.value.isSame(as: transfer)
        {
            return entries[index].texts
        }
        let texts = Self.make(
            measures.http_version, remote: Self.address(remote, measures.primary_port),
            local: Self.address(local, measures.local_port), transfer)
        entries[index] = Entry(
            remotePort: measures.primary_port, localPort: measures.local_port,
            version: measures.http_version, remote: Self.copy(remote), local: Self.copy(local),
            texts: texts)
        return texts
    }

    private static func make(
        _ version: Int, remote: String, local: String, _ transfer: CurlTransfer
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
        _ measures: ccurl_measures, _ remote: UnsafePointer<CChar>, _ local: UnsafePointer<CChar>
    ) -> Bool {
        localPort == measures.local_port && remotePort == measures.primary_port
            && version == measures.http_version
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

extension TransferMetrics.Connection {
    /// Whether TLS and the proxy are those of a transfer.
    @inline(__always)
    fileprivate func isSame(as transfer: CurlTransfer) -> Bool {
        guard let extras = transfer.extras else { return tls.isEmpty && proxy.isEmpty }
        return tls == extras.tls && proxy == extras.proxy
    }
}

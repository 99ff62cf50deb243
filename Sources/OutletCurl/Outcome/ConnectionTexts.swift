import CCurl
import Glibc
import OutletHTTP
import OutletTransport

/// A cache of the strings that metrics contain about connections.
///
/// Indexed by the local port: a reused connection finds its strings, other connections replace
/// them. Making them for each transfer would cost 4 % of its instructions (`Benchmarks/count
/// transport`).
struct ConnectionTexts {
    fileprivate struct Entry {
        var remotePort: Int32 = -1
        var localPort: Int32 = -1
        /// The addresses as libcurl passes them, with the final NUL.
        var remote: ContiguousArray<CChar> = [0]
        var local: ContiguousArray<CChar> = [0]
        var texts = Boxed(TransferMetrics.Connection())
    }

    private static let size = 128
    private var entries = ContiguousArray(repeating: Entry(), count: size)

    /// Returns the strings for a connection that a request is about to be sent on.
    mutating func texts(of ends: ConnectionEnds) -> Boxed<TransferMetrics.Connection> {
        let index = Self.index(ends.localPort)
        guard !entries[index].isOf(ends) else { return entries[index].texts }
        var connection = TransferMetrics.Connection()
        connection.remoteAddress = Self.address(ends.remote, Int(ends.remotePort))
        connection.localAddress = Self.address(ends.local, Int(ends.localPort))
        entries[index] = Entry(
            remotePort: ends.remotePort, localPort: ends.localPort,
            remote: Self.copy(ends.remote), local: Self.copy(ends.local), texts: Boxed(connection))
        return entries[index].texts
    }

    /// Returns the strings for a transfer that has ended; `nil` if it was never sent.
    mutating func texts(of transfer: CurlTransfer) -> Boxed<TransferMetrics.Connection>? {
        guard let known = transfer.connection else { return nil }
        let version = transfer.response?.httpVersion ?? ""
        if known.value.httpVersion == version, known.value.isSame(as: transfer) { return known }
        var texts = known
        texts.value.httpVersion = version
        texts.value.tls = transfer.tls
        texts.value.proxy = transfer.proxy
        // The next transfer on the connection finds these, unless another connection has the entry.
        let index = Self.index(transfer.localPort)
        if entries[index].texts.isIdentical(to: known) { entries[index].texts = texts }
        return texts
    }

    /// Makes the strings for a transfer that was not sent; its connection may have been started.
    static func texts(
        _ measures: ccurl_measures, of transfer: CurlTransfer
    ) -> Boxed<TransferMetrics.Connection> {
        var connection = TransferMetrics.Connection()
        if let remote = measures.primary_ip, let local = measures.local_ip, remote.pointee != 0 {
            connection.remoteAddress = address(remote, measures.primary_port)
            connection.localAddress = address(local, measures.local_port)
        }
        connection.httpVersion = transfer.response?.httpVersion ?? ""
        connection.tls = transfer.tls
        connection.proxy = transfer.proxy
        return Boxed(connection)
    }

    /// The kernel gives clients only every second port, so the lowest bit is dropped.
    private static func index(_ localPort: Int32) -> Int { (Int(localPort) >> 1) & (size - 1) }

    private static func copy(_ text: UnsafePointer<CChar>) -> ContiguousArray<CChar> {
        ContiguousArray(UnsafeBufferPointer(start: text, count: strlen(text) + 1))
    }

    private static func address(_ ip: UnsafePointer<CChar>, _ port: Int) -> String {
        let text = String(cString: ip)
        guard !text.isEmpty else { return "" }
        return text.containsByte(":") ? "[\(text)]:\(port)" : "\(text):\(port)"
    }
}

extension ConnectionTexts.Entry {
    fileprivate func isOf(_ ends: ConnectionEnds) -> Bool {
        localPort == ends.localPort && remotePort == ends.remotePort
            && Self.isSame(remote, ends.remote) && Self.isSame(local, ends.local)
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
    /// Whether the TLS parameters and the proxy are those of a transfer.
    fileprivate func isSame(as transfer: CurlTransfer) -> Bool {
        guard let extras = transfer.extras else { return tls.isEmpty && proxy.isEmpty }
        return tls == extras.tls && proxy == extras.proxy
    }
}

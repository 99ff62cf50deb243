import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP

/// A socket to the kernel's routing tables (rtnetlink(7)): one owner, closed at its end.
///
/// Thread: one at a time.
final class NetlinkSocket: @unchecked Sendable {
    // because its only property is a constant number.

    /// A system call failed.
    struct Failure: Error, CustomStringConvertible {
        let call: String
        let code: Int32

        var description: String { "netlink: \(call): \(String(cString: strerror(code)))" }
    }

    let descriptor: Int32

    /// Opens a socket.
    ///
    /// - Parameter groups: The groups whose messages it gets unasked; 0 for none.
    init(groups: UInt32) throws(Failure) {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        // NETLINK_ROUTE is protocol 0.
        let opened = socket(AF_NETLINK, type, 0)
        guard opened >= 0 else { throw Failure(call: "socket", code: errno) }
        // sockaddr_nl: family, padding, port (0: the kernel's choice), groups.
        var address = [UInt8](repeating: 0, count: 12)
        address.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: UInt16(AF_NETLINK), toByteOffset: 0, as: UInt16.self)
            bytes.storeBytes(of: groups, toByteOffset: 8, as: UInt32.self)
        }
        let bound = address.withUnsafeBytes { bytes in
            bytes.baseAddress.map {
                bind(opened, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            } ?? -1
        }
        guard bound == 0 else {
            let code = errno
            close(opened)
            throw Failure(call: "bind", code: code)
        }
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Reads all links and routes; does not wait for anything but the kernel.
    func table() throws(Failure) -> RouteTable {
        // A table that changes while it is read is read again.
        for _ in 0..<8 {
            var table = RouteTable()
            let links = try dump(RouteTable.getLink, sequence: 1, into: &table)
            let routes = try dump(RouteTable.getRoute, sequence: 2, into: &table)
            if links, routes { return table }
        }
        throw Failure(call: "dump", code: EAGAIN)
    }

    /// Whether the dump was whole.
    private func dump(
        _ type: UInt16, sequence: UInt32, into table: inout RouteTable
    ) throws(Failure) -> Bool {
        let request = RouteTable.dumpRequest(type, sequence: sequence)
        guard send(descriptor, request, request.count, 0) == request.count else {
            throw Failure(call: "send", code: errno)
        }
        var isWhole = true
        while true {
            switch table.take(try receive(flags: 0)) {
            case .more: continue
            case .done: return isWhole
            case .interrupted:
                // The rest of the dump is still to come, and must not meet the next one.
                isWhole = false
                continue
            case .failed(let code): throw Failure(call: "dump", code: code)
            }
        }
    }

    /// Takes what has come unasked; its content does not matter, the tables are read anew.
    func drain() {
        while (try? receive(flags: Int32(MSG_DONTWAIT))) != nil {}
    }

    private func receive(flags: Int32) throws(Failure) -> [UInt8] {
        while true {
            var buffer = [UInt8](repeating: 0, count: 32_768)
            let count = recv(descriptor, &buffer, buffer.count, flags)
            if count >= 0 { return Array(buffer.prefix(count)) }
            if errno != EINTR { throw Failure(call: "recv", code: errno) }
        }
    }
}

extension RouteTable.Link {
    /// What the interface is, by its hardware and by what sysfs says of its driver.
    var type: NetworkPath.InterfaceType {
        if isLoopback { return .loopback }
        let facts = try? Data(contentOf: URL(filePath: "/sys/class/net/\(name)/uevent"))
        for line in String(decoding: facts ?? Data(), as: UTF8.self).lines {
            if line == "DEVTYPE=wlan" { return .wifi }
            if line == "DEVTYPE=wwan" { return .cellular }
        }
        // ARPHRD_ETHER; ARPHRD_RAWIP, which modems have.
        return switch hardware {
        case 1: .wiredEthernet
        case 519: .cellular
        default: .other
        }
    }
}

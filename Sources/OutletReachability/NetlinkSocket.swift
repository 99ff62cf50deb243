import CMnl
import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP

/// An rtnetlink(7) socket, to read the kernel's routing tables; closed by `deinit`.
///
/// Thread: one at a time.
final class NetlinkSocket: @unchecked Sendable {
    // because its only property is a constant pointer.

    /// The error of a system call, or of the kernel's answer.
    struct Failure: Error, CustomStringConvertible, Equatable {
        let call: String
        let code: Int32

        var description: String { "netlink: \(call): \(systemText(code))" }
    }

    /// The multicast groups that report changes of links, addresses and routes.
    static let changes =
        RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR
        | RTMGRP_IPV6_ROUTE

    private let socket: OpaquePointer

    /// Opens a socket.
    ///
    /// - Parameters:
    ///   - groups: The multicast groups to join; 0 for none.
    ///   - waits: Whether reads block until a message arrives.
    init(groups: Int32, waits: Bool) throws(Failure) {
        let flags = Int32(SOCK_CLOEXEC.rawValue) | (waits ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        guard let opened = mnl_socket_open2(NETLINK_ROUTE, flags) else {
            throw Failure(call: "socket", code: errno)
        }
        guard mnl_socket_bind(opened, UInt32(bitPattern: groups), MNL_SOCKET_AUTOPID) == 0 else {
            let code = errno
            mnl_socket_close(opened)
            throw Failure(call: "bind", code: code)
        }
        socket = opened
    }

    deinit { mnl_socket_close(socket) }

    var descriptor: Int32 { mnl_socket_get_fd(socket) }

    /// The netlink port number of this socket.
    private var port: UInt32 { mnl_socket_get_portid(socket) }

    /// Reads all links and routes from the kernel.
    ///
    /// - Throws: ``Failure``; with `EAGAIN` if the tables have changed during each of eight
    ///   attempts.
    static func table() throws(Failure) -> RouteTable {
        // If a table changes while it is read, both are read again with a new socket, which does
        // not receive the rest of the interrupted answer.
        for _ in 0..<8 {
            do {
                let socket = try NetlinkSocket(groups: 0, waits: true)
                var table = RouteTable()
                try socket.dump(RTM_GETLINK, sequence: 1, into: &table)
                try socket.dump(RTM_GETROUTE, sequence: 2, into: &table)
                return table
            } catch  where error.code == EINTR {
                continue
            }
        }
        throw Failure(call: "dump", code: EAGAIN)
    }

    private func dump(
        _ type: Int, sequence: UInt32, into table: inout RouteTable
    ) throws(Failure) {
        try request(type, sequence: sequence)
        while true {
            let datagram = try receive()
            guard try table.take(datagram, sequence: sequence, port: port) else { return }
        }
    }

    /// Requests all links, or all routes.
    private func request(_ type: Int, sequence: UInt32) throws(Failure) {
        let sent = withUnsafeTemporaryAllocation(
            byteCount: 64, alignment: MemoryLayout<nlmsghdr>.alignment
        ) { buffer in
            guard let message = mnl_nlmsg_put_header(buffer.baseAddress) else { return -1 }
            message.pointee.nlmsg_type = UInt16(type)
            message.pointee.nlmsg_flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
            message.pointee.nlmsg_seq = sequence
            // The header is all zeros, which requests every address family.
            mnl_nlmsg_put_extra_header(message, MemoryLayout<ifinfomsg>.size)
            return mnl_socket_sendto(socket, message, Int(message.pointee.nlmsg_len))
        }
        guard sent >= 0 else { throw Failure(call: "send", code: errno) }
    }

    /// Discards all change notifications; the tables are read completely instead.
    func drain() {
        while (try? receive()) != nil {}
    }

    private func receive() throws(Failure) -> [UInt8] {
        while true {
            var buffer = [UInt8](repeating: 0, count: 32_768)
            let count = mnl_socket_recvfrom(socket, &buffer, buffer.count)
            if count >= 0 { return Array(buffer.prefix(count)) }
            if errno != EINTR { throw Failure(call: "recv", code: errno) }
        }
    }
}

extension RouteTable.Link {
    /// The interface's type, from its hardware type and from the `DEVTYPE` in sysfs.
    ///
    /// Reads a file in `/sys`.
    var type: NetworkPath.InterfaceType {
        if isLoopback { return .loopback }
        let facts = try? Data(contentOf: URL(filePath: "/sys/class/net/\(name)/uevent"))
        for line in String(decoding: facts ?? Data(), as: UTF8.self).lines {
            if line == "DEVTYPE=wlan" { return .wifi }
            if line == "DEVTYPE=wwan" { return .cellular }
        }
        return switch Int32(hardware) {
        case ARPHRD_ETHER: .wiredEthernet
        // The hardware type of cellular modems.
        case ARPHRD_RAWIP: .cellular
        default: .other
        }
    }
}

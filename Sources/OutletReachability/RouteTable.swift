import CMnl
import Glibc

/// The interfaces and default routes of this machine, parsed from rtnetlink(7) messages.
struct RouteTable: Equatable, Sendable {
    struct Link: Equatable, Sendable {
        let index: Int32
        let name: String
        /// The kind of hardware (`ARPHRD_…`).
        let hardware: UInt16
        /// Up, and with a carrier (`IFF_UP`, `IFF_RUNNING`).
        let isRunning: Bool
        let isLoopback: Bool
    }

    struct Route: Equatable, Sendable {
        let isIPv6: Bool
        /// The index of its interface.
        let link: Int32
    }

    private(set) var links: [Link] = []
    /// The default routes only; a multipath route has one entry for each next hop.
    private(set) var routes: [Route] = []

    /// Adds the messages of one datagram; ignores truncated and unknown messages.
    ///
    /// - Parameters:
    ///   - datagram: The bytes from the kernel.
    ///   - sequence: The sequence number of the request that they answer.
    ///   - port: The port number of the requesting socket; 0 for any.
    /// - Returns: Whether more datagrams follow.
    /// - Throws: The kernel's error; `EINTR` if the tables changed meanwhile and must be read
    ///   again.
    mutating func take(
        _ datagram: [UInt8], sequence: UInt32, port: UInt32
    ) throws(NetlinkSocket.Failure) -> Bool {
        let result = withUnsafeMutablePointer(to: &self) { table in
            datagram.withUnsafeBytes { bytes in
                var next = bytes.baseAddress?.assumingMemoryBound(to: nlmsghdr.self)
                var left = Int32(bytes.count)
                // libmnl treats lengths as signed numbers, so `mnl_nlmsg_ok` accepts a length above
                // `Int32.max`.
                while let message = next, mnl_nlmsg_ok(message, left),
                    message.pointee.nlmsg_len <= UInt32(left)
                {
                    let result = mnl_cb_run(
                        message, Int(message.pointee.nlmsg_len), sequence, port,
                        { message, table in
                            guard let message else { return MNL_CB_OK }
                            table?.assumingMemoryBound(to: RouteTable.self).pointee.take(message)
                            return MNL_CB_OK
                        }, table)
                    guard result > MNL_CB_STOP else { return result }
                    next = UnsafePointer(mnl_nlmsg_next(message, &left))
                }
                return MNL_CB_OK
            }
        }
        if result == MNL_CB_ERROR { throw NetlinkSocket.Failure(call: "dump", code: errno) }
        return result != MNL_CB_STOP
    }

    private mutating func take(_ message: UnsafePointer<nlmsghdr>) {
        switch Int(message.pointee.nlmsg_type) {
        case RTM_NEWLINK: takeLink(message)
        case RTM_NEWROUTE: takeRoute(message)
        default: break
        }
    }

    private mutating func takeLink(_ message: UnsafePointer<nlmsghdr>) {
        guard let link = message.head(ifinfomsg.self) else { return }
        var name = ""
        for attribute in message.attributes(after: ifinfomsg.self)
        where mnl_attr_get_type(attribute) == IFLA_IFNAME
            && mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0
        {
            guard let text = mnl_attr_get_str(attribute) else { continue }
            name = String(cString: text)
        }
        let running = UInt32(IFF_UP | IFF_RUNNING)
        links.append(
            Link(
                index: link.ifi_index, name: name, hardware: link.ifi_type,
                isRunning: link.ifi_flags & running == running,
                isLoopback: link.ifi_flags & UInt32(IFF_LOOPBACK) != 0))
    }

    private mutating func takeRoute(_ message: UnsafePointer<nlmsghdr>) {
        // A destination of 0 bits is a default route; "unreachable" and similar routes have other
        // types.
        guard let route = message.head(rtmsg.self), route.rtm_dst_len == 0,
            Int(route.rtm_type) == RTN_UNICAST
        else { return }
        let isIPv6 = Int32(route.rtm_family) == AF_INET6
        for attribute in message.attributes(after: rtmsg.self) {
            switch UInt32(mnl_attr_get_type(attribute)) {
            case RTA_OIF.rawValue:
                guard mnl_attr_validate(attribute, MNL_TYPE_U32) == 0 else { continue }
                let link = Int32(bitPattern: mnl_attr_get_u32(attribute))
                routes.append(Route(isIPv6: isIPv6, link: link))
            case RTA_MULTIPATH.rawValue:
                let hops = UnsafeRawBufferPointer(
                    start: mnl_attr_get_payload(attribute),
                    count: Int(mnl_attr_get_payload_len(attribute)))
                for link in Self.links(ofHops: hops) {
                    routes.append(Route(isIPv6: isIPv6, link: link))
                }
            default: break
            }
        }
    }

    /// Returns the interfaces of a multipath route.
    ///
    /// Each hop is an `rtnexthop` followed by its attributes; libmnl has no iterator for them.
    private static func links(ofHops hops: UnsafeRawBufferPointer) -> [Int32] {
        let size = MemoryLayout<rtnexthop>.size
        var links: [Int32] = []
        var place = 0
        while place + size <= hops.count {
            let hop = hops.loadUnaligned(fromByteOffset: place, as: rtnexthop.self)
            let length = Int(hop.rtnh_len)
            guard length >= size, place + length <= hops.count else { break }
            links.append(hop.rtnh_ifindex)
            // Hops are aligned to four bytes.
            place += (length + 3) & ~3
        }
        return links
    }

    /// Returns the network path: the running interfaces, except loopback, with a default route.
    ///
    /// - Parameter typeOf: Returns the type of an interface.
    func path(typeOf: (Link) -> NetworkPath.InterfaceType) -> NetworkPath {
        let usable = links.filter { $0.isRunning && !$0.isLoopback }
        let used = routes.filter { route in usable.contains { $0.index == route.link } }
        let interfaces = usable.filter { link in used.contains { $0.link == link.index } }
            .sorted { $0.index < $1.index }
            .map { NetworkPath.Interface(name: $0.name, index: $0.index, type: typeOf($0)) }
        return NetworkPath(
            status: used.isEmpty ? .unsatisfied : .satisfied, interfaces: interfaces,
            supportsIPv4: used.contains { !$0.isIPv6 }, supportsIPv6: used.contains(where: \.isIPv6)
        )
    }
}

extension UnsafePointer<nlmsghdr> {
    /// Returns the header of a message's payload; `nil` if the payload is shorter.
    fileprivate func head<Head>(_ type: Head.Type) -> Head? {
        guard mnl_nlmsg_get_payload_len(self) >= MemoryLayout<Head>.size else { return nil }
        return mnl_nlmsg_get_payload(self)?.loadUnaligned(as: type)
    }

    /// Returns the attributes after that header.
    fileprivate func attributes<Head>(after head: Head.Type) -> [UnsafePointer<nlattr>] {
        guard let start = mnl_nlmsg_get_payload_offset(self, MemoryLayout<Head>.size),
            let end = mnl_nlmsg_get_payload_tail(self)
        else { return [] }
        var found: [UnsafePointer<nlattr>] = []
        var next = UnsafePointer<nlattr>(start.assumingMemoryBound(to: nlattr.self))
        while mnl_attr_ok(next, Int32(end - UnsafeMutableRawPointer(mutating: next))) {
            found.append(next)
            next = UnsafePointer<nlattr>(mnl_attr_next(next))
        }
        return found
    }
}

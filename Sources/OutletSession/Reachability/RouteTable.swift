/// The interfaces and default routes of this machine, as rtnetlink(7) tells them: a pure value.
///
/// Swift's Glibc module has none of `linux/rtnetlink.h`; the numbers here are that header's.
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
        /// The interface it goes over.
        let link: Int32
    }

    private(set) var links: [Link] = []
    /// Default routes only, several where one has several hops.
    private(set) var routes: [Route] = []

    /// How a dump goes on after one datagram.
    enum Progress: Equatable {
        case more
        case done
        /// The table changed meanwhile; ask again.
        case interrupted
        /// The kernel refused, with this number (`errno`).
        case failed(Int32)
    }

    /// Takes the messages of one datagram; what is cut short or unknown is passed over.
    mutating func take(_ datagram: [UInt8]) -> Progress {
        var rest = Bytes(datagram[...])
        while let length = rest.u32(at: 0), length >= 16, Int(length) <= rest.count,
            let type = rest.u16(at: 4), let flags = rest.u16(at: 6)
        {
            let payload = rest.slice(16, Int(length))
            if flags & Self.dumpInterrupted != 0 { return .interrupted }
            switch type {
            case Self.done: return .done
            case Self.error: return .failed(-(payload.i32(at: 0) ?? 0))
            case Self.newLink: takeLink(payload)
            case Self.newRoute: takeRoute(payload)
            default: break
            }
            rest = rest.slice(min(Bytes.aligned(Int(length)), rest.count), rest.count)
        }
        return .more
    }

    private mutating func takeLink(_ message: Bytes) {
        guard let hardware = message.u16(at: 2), let index = message.i32(at: 4),
            let flags = message.u32(at: 8), message.count >= 16
        else { return }
        var name = ""
        for (type, value) in message.attributes(from: 16) where type == Self.linkName {
            name = String(decoding: value.prefix { $0 != 0 }, as: UTF8.self)
        }
        let running = Self.up | Self.running
        links.append(
            Link(
                index: index, name: name, hardware: hardware,
                isRunning: flags & running == running, isLoopback: flags & Self.loopback != 0))
    }

    private mutating func takeRoute(_ message: Bytes) {
        // A destination of no bits is the default; unreachable and the like have other types.
        guard message.count >= 12, message.u8(at: 1) == 0, message.u8(at: 7) == Self.unicast
        else { return }
        let isIPv6 = message.u8(at: 0) == Self.familyIPv6
        for (type, value) in message.attributes(from: 12) {
            switch type {
            case Self.outgoing:
                if let link = value.i32(at: 0) { routes.append(Route(isIPv6: isIPv6, link: link)) }
            case Self.multipath:
                var hops = value
                while let length = hops.u16(at: 0), length >= 8, Int(length) <= hops.count {
                    if let link = hops.i32(at: 4) {
                        routes.append(Route(isIPv6: isIPv6, link: link))
                    }
                    hops = hops.slice(min(Bytes.aligned(Int(length)), hops.count), hops.count)
                }
            default: break
            }
        }
    }

    /// What the table amounts to.
    ///
    /// - Parameter typeOf: Says what an interface is.
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

    /// A request for all links, or all routes (`NLM_F_REQUEST | NLM_F_DUMP`).
    static func dumpRequest(_ type: UInt16, sequence: UInt32) -> [UInt8] {
        var request = [UInt8](repeating: 0, count: 32)
        request.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: 32, toByteOffset: 0, as: UInt32.self)
            bytes.storeBytes(of: type, toByteOffset: 4, as: UInt16.self)
            bytes.storeBytes(of: 0x301, toByteOffset: 6, as: UInt16.self)
            bytes.storeBytes(of: sequence, toByteOffset: 8, as: UInt32.self)
        }
        return request
    }

    static let getLink: UInt16 = 18
    static let getRoute: UInt16 = 26
    /// `RTMGRP_LINK`, `_IPV4_IFADDR`, `_IPV4_ROUTE`, `_IPV6_IFADDR`, `_IPV6_ROUTE`.
    static let changes: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

    private static let error: UInt16 = 2
    private static let done: UInt16 = 3
    private static let dumpInterrupted: UInt16 = 0x10
    private static let newLink: UInt16 = 16
    private static let newRoute: UInt16 = 24
    private static let linkName: UInt16 = 3
    private static let outgoing: UInt16 = 4
    private static let multipath: UInt16 = 9
    private static let unicast: UInt8 = 1
    private static let familyIPv6: UInt8 = 10
    private static let up: UInt32 = 0x1
    private static let loopback: UInt32 = 0x8
    private static let running: UInt32 = 0x40
}

/// Numbers in the machine's order at places that may not be there.
private struct Bytes {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    func slice(_ from: Int, _ to: Int) -> Bytes {
        Bytes(bytes[(bytes.startIndex + from)..<(bytes.startIndex + to)])
    }

    func prefix(while predicate: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        bytes.prefix(while: predicate)
    }

    func u8(at offset: Int) -> UInt8? { load(offset) }
    func u16(at offset: Int) -> UInt16? { load(offset) }
    func u32(at offset: Int) -> UInt32? { load(offset) }
    func i32(at offset: Int) -> Int32? { load(offset) }

    private func load<Number: FixedWidthInteger>(_ offset: Int) -> Number? {
        guard offset + MemoryLayout<Number>.size <= bytes.count else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
    }

    /// Attributes, each of length, type and value.
    func attributes(from offset: Int) -> [(type: UInt16, value: Bytes)] {
        var found: [(UInt16, Bytes)] = []
        var rest = slice(min(offset, count), count)
        while let length = rest.u16(at: 0), length >= 4, Int(length) <= rest.count,
            let type = rest.u16(at: 2)
        {
            // The upper two bits are flags.
            found.append((type & 0x3FFF, rest.slice(4, Int(length))))
            rest = rest.slice(min(Self.aligned(Int(length)), rest.count), rest.count)
        }
        return found
    }

    /// Messages, attributes and hops begin at multiples of four.
    static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

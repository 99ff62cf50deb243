import Glibc
import OutletTestSupport
import Testing

@testable import OutletReachability

/// Netlink messages in the format of the kernel.
private enum Message {
    static func make(_ type: UInt16, flags: UInt16 = 2, _ payload: [UInt8]) -> [UInt8] {
        let length = UInt32(16 + payload.count)
        return bytes(length) + bytes(type) + bytes(flags) + bytes(UInt32(1)) + bytes(UInt32(9))
            + payload + [UInt8](repeating: 0, count: (4 - payload.count % 4) % 4)
    }

    static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        bytes(UInt16(4 + value.count)) + bytes(type) + value
            + [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
    }

    static func link(_ index: Int32, _ name: String, flags: UInt32, hardware: UInt16 = 1) -> [UInt8]
    {
        make(
            16,
            [0, 0] + bytes(hardware) + bytes(index) + bytes(flags) + bytes(UInt32(0))
                + attribute(3, Array(name.utf8) + [0]))
    }

    static func route(
        family: UInt8 = 2, bits: UInt8 = 0, type: UInt8 = 1, _ attributes: [UInt8]
    ) -> [UInt8] {
        make(24, [family, bits, 0, 0, 254, 3, 0, type] + bytes(UInt32(0)) + attributes)
    }

    static func over(_ index: Int32) -> [UInt8] { attribute(4, bytes(index)) }

    static func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }
}

@Suite struct RouteTableTests {
    private let running: UInt32 = 0x41

    private func path(_ messages: [UInt8]...) throws -> NetworkPath {
        var table = RouteTable()
        for message in messages { #expect(try table.take(message, sequence: 1, port: 9)) }
        return table.path { $0.isLoopback ? .loopback : .wiredEthernet }
    }

    @Test func `a default route over a running interface makes the path satisfied`() throws {
        let found = try path(
            Message.link(1, "lo", flags: running | 8) + Message.link(2, "eth0", flags: running),
            Message.route(Message.over(2)) + Message.route(family: 10, Message.over(2)))
        #expect(
            found
                == NetworkPath(
                    status: .satisfied,
                    interfaces: [.init(name: "eth0", index: 2, type: .wiredEthernet)],
                    supportsIPv4: true, supportsIPv6: true))
    }

    @Test func `routes without carrier, default destination or interface are unsatisfied`() throws {
        let link = Message.link(2, "eth0", flags: running)
        #expect(
            try path(Message.link(2, "eth0", flags: 1), Message.route(Message.over(2))).status
                == .unsatisfied)
        #expect(try path(link, Message.route(bits: 24, Message.over(2))).status == .unsatisfied)
        #expect(try path(link, Message.route(type: 7, Message.over(2))).status == .unsatisfied)
        #expect(try path(link, Message.route(Message.over(3))).status == .unsatisfied)
        #expect(
            try path(Message.link(1, "lo", flags: running | 8), Message.route(Message.over(1)))
                .status
                == .unsatisfied)
        #expect(try path().status == .unsatisfied)
    }

    @Test func `each hop of a multipath route is used`() throws {
        func hop(_ index: Int32) -> [UInt8] {
            Message.bytes(UInt16(8)) + [0, 0] + Message.bytes(index)
        }
        let found = try path(
            Message.link(2, "eth0", flags: running) + Message.link(3, "eth1", flags: running),
            Message.route(Message.attribute(9, hop(2) + hop(3))))
        #expect(found.interfaces.map(\.name) == ["eth0", "eth1"])
    }

    @Test func `the end, an interruption and an error of a dump are distinguished`() throws {
        var table = RouteTable()
        #expect(try !table.take(Message.make(3, [0, 0, 0, 0]), sequence: 1, port: 9))
        for (message, code) in [
            (Message.make(24, flags: 0x12, []), EINTR),
            // The table changed before the end.
            (Message.make(3, flags: 0x12, [0, 0, 0, 0]), EINTR),
            (Message.make(2, Message.bytes(Int32(-1)) + [UInt8](repeating: 0, count: 16)), EPERM),
        ] {
            #expect(throws: NetlinkSocket.Failure(call: "dump", code: code)) {
                try table.take(message, sequence: 1, port: 9)
            }
        }
    }

    @Test func `a response to another request is an error`() {
        let link = Message.link(2, "eth0", flags: running)
        for (sequence, port) in [(2, 9), (1, 8)] as [(UInt32, UInt32)] {
            var table = RouteTable()
            #expect(throws: NetlinkSocket.Failure.self) {
                try table.take(link, sequence: sequence, port: port)
            }
            #expect(table.links.isEmpty)
        }
    }

    @Test func `an interface name without a null byte is ignored`() throws {
        let name = Message.attribute(3, Array("eth0".utf8))
        var table = RouteTable()
        let message = Message.make(
            16, [0, 0, 1, 0] + Message.bytes(Int32(2)) + [UInt8](repeating: 0, count: 8) + name)
        #expect(try table.take(message, sequence: 1, port: 9))
        #expect(table.links.map(\.name) == [""])
    }

    @Test func `invalid messages do not crash`() {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = Steps(state: seed)
            var bytes =
                Message.link(2, "eth0", flags: running) + Message.route(Message.over(2))
            for _ in 0..<(random.next() % 8) {
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(
                    truncatingIfNeeded: random.next())
            }
            var table = RouteTable()
            let part = bytes.prefix(Int(random.next() % UInt64(bytes.count + 1)))
            _ = try? table.take(Array(part), sequence: 1, port: 9)
        }
    }

    @Test func `the kernel's table contains the loopback and matches the current path`() throws {
        let table = try NetlinkSocket.table()
        #expect(table.links.contains { $0.isLoopback && $0.name == "lo" })
        #expect(table.path { $0.type } == NetworkPath.current)
        #expect(NetworkPath.current.status != .unknown)
    }
}

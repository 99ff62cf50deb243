import CCurl
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import Testing

@testable import OutletCurl
import OutletTransport

@Suite struct `The admission queue` {
    private func named(_ name: String) throws -> Origin {
        try Origin(#require(URL(string: "http://\(name).test")))
    }

    private func names(_ queue: inout AdmissionQueue<String>) -> [String] {
        var names: [String] = []
        while let (name, _) = queue.next() { names.append(name) }
        return names
    }

    private func expectEntered(
        _ starts: Bool, _ queue: inout AdmissionQueue<String>, _ name: String,
        origin: OriginQueue<String>, priority: TransferPriority,
        at location: SourceLocation = #_sourceLocation
    ) {
        let started = enter(name, origin: origin, priority: priority, &queue)
        #expect(started == starts, sourceLocation: location)
    }

    @discardableResult
    private func enter(
        _ name: String, origin: OriginQueue<String>, priority: TransferPriority,
        _ queue: inout AdmissionQueue<String>
    ) -> Bool {
        if queue.enter(origin) { return true }
        _ = queue.wait(name, origin: origin, priority: priority)
        return false
    }

    @Test func `transfers above the limit of an origin wait`() throws {
        var queue = AdmissionQueue<String>(limit: 10)
        let origin = try OriginQueue<String>(named("origin"), limit: 2)
        let entered = (0..<4).map {
            enter("\($0)", origin: origin, priority: .normal, &queue)
        }
        #expect(entered == [true, true, false, false])
        #expect(names(&queue).isEmpty)
        queue.leave(origin)
        #expect(names(&queue) == ["2"])
        queue.leave(origin)
        queue.leave(origin)
        #expect(names(&queue) == ["3"])
        #expect(queue.active == 1)
    }

    @Test func `waiting transfers start by priority, and equal priorities in order`() throws {
        var queue = AdmissionQueue<String>(limit: 10)
        let origin = try OriginQueue<String>(named("origin"), limit: 1)
        expectEntered(true, &queue, "first", origin: origin, priority: .low)
        for (name, priority) in [
            ("low", TransferPriority.low), ("normal", .normal), ("high", .high), ("high 2", .high),
        ] {
            expectEntered(false, &queue, name, origin: origin, priority: priority)
        }
        var order: [String] = []
        for _ in 0..<4 {
            queue.leave(origin)
            order += names(&queue)
        }
        #expect(order == ["high", "high 2", "normal", "low"])
    }

    @Test func `origins take turns when the total limit is reached`() throws {
        var queue = AdmissionQueue<String>(limit: 1)
        let a = try OriginQueue<String>(named("a"), limit: 10)
        let b = try OriginQueue<String>(named("b"), limit: 10)
        expectEntered(true, &queue, "a0", origin: a, priority: .normal)
        for name in ["a1", "a2"] {
            expectEntered(false, &queue, name, origin: a, priority: .normal)
        }
        for name in ["b1", "b2"] {
            expectEntered(false, &queue, name, origin: b, priority: .normal)
        }
        var order: [String] = []
        var running = a
        for _ in 0..<4 {
            queue.leave(running)
            guard let (name, origin) = queue.next() else { break }
            order.append(name)
            running = origin
        }
        #expect(order == ["a1", "b1", "a2", "b2"])
    }

    @Test func `a new transfer does not overtake waiting ones`() throws {
        var queue = AdmissionQueue<String>(limit: 10)
        let origin = try OriginQueue<String>(named("origin"), limit: 1)
        expectEntered(true, &queue, "first", origin: origin, priority: .normal)
        expectEntered(false, &queue, "second", origin: origin, priority: .low)
        queue.leave(origin)
        // The free place belongs to "second", which waits already.
        expectEntered(false, &queue, "third", origin: origin, priority: .low)
        #expect(names(&queue) == ["second"])
    }

    @Test func `an HTTP/2 origin with one connection admits 100 streams`() throws {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 1)
        queue.learn(.http2, of: origin)
        for _ in 0..<100 { expectEntered(true, &queue, "x", origin: origin, priority: .normal) }
        expectEntered(false, &queue, "x", origin: origin, priority: .normal)
    }

    @Test func `an HTTP/2 origin with any number of connections admits transfers`() throws {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: .max)
        queue.learn(.http2, of: origin)
        for _ in 0..<200 { expectEntered(true, &queue, "x", origin: origin, priority: .normal) }
        #expect(origin.mayOpenSocket(for: 1))
    }

    @Test func `a transfer that has found no stream is the next one to start`() throws {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 1)
        queue.learn(.http2, of: origin)
        for _ in 0..<2 { expectEntered(true, &queue, "x", origin: origin, priority: .normal) }
        queue.leave(origin, lacksStream: true)
        _ = queue.wait("0", origin: origin, priority: .normal, isFirst: true)
        for name in ["1", "2"] {
            expectEntered(false, &queue, name, origin: origin, priority: .normal)
        }
        queue.leave(origin)
        #expect(names(&queue) == ["0"])
        queue.leave(origin)
        let next = queue.next()?.0
        #expect(next == "1")
        queue.leave(origin, lacksStream: true)
        let ticket = queue.wait("1", origin: origin, priority: .normal, isFirst: true)
        queue.remove(ticket: ticket, origin: origin, priority: .normal)
        _ = queue.wait("3", origin: origin, priority: .normal, isFirst: true)
        queue.endOpening(origin, hasConnection: false)
        let last = queue.next()?.0
        #expect(last == "3")
    }

    @Test func `transfers wait below the limit, too, while a connection is opened`() throws {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 8)
        queue.learn(.http2, of: origin)
        for _ in 0..<3 { expectEntered(true, &queue, "x", origin: origin, priority: .normal) }
        #expect(origin.mayOpenSocket(for: 1) && !origin.mayOpenSocket(for: 2))
        queue.leave(origin, lacksStream: true)
        _ = queue.wait("2", origin: origin, priority: .normal, isFirst: true)
        #expect(names(&queue).isEmpty)
        queue.endOpening(origin, hasConnection: true)
        #expect(names(&queue) == ["2"])
    }

    @Test func `transfers that were started as streams open no more sockets than HTTP/1 may have`()
        throws
    {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 2)
        queue.learn(.http2, of: origin)
        for _ in 0..<6 { expectEntered(true, &queue, "x", origin: origin, priority: .normal) }
        queue.learn(.http1, of: origin)
        origin.tally?.pointee.sockets = 1
        #expect(origin.mayOpenSocket(for: 1))
        origin.tally?.pointee.sockets = 2
        #expect(!origin.mayOpenSocket(for: 2))
        #expect(origin.mayOpenSocket(for: 3, exceedsLimits: true))
        for _ in 0..<4 { queue.leave(origin, lacksStream: true) }
        #expect(origin.mayOpenSocket(for: 2))
        origin.tally?.pointee.sockets = 0
    }

    @Test func `an origin with open sockets is not forgotten`() throws {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        var table = OriginTable(
            TransportSettings(configuration, environment: [:]), amongLoops: 1, OriginRegistry())
        let used = table.queue(try named("used"))
        table.queue(try named("open")).tally?.pointee.sockets = 1
        table.queue(try named("closed")).noteUnsentEnds(on: 1)
        for number in 0..<600 { _ = table.queue(try named("other\(number)")) }
        #expect(table.queue(try named("closed")).portsWithUnsentEnds.isEmpty)
        #expect(table.queue(try named("used")) === used)
        let open = table.queue(try named("open"))
        #expect(open.hasSockets)
        open.tally?.pointee.sockets = 0
    }

    @Test func `a missing stream lowers the limit, and the end of transfers raises it`() throws {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 1)
        queue.learn(.http2, of: origin)
        for _ in 0..<6 { expectEntered(true, &queue, "x", origin: origin, priority: .normal) }
        for _ in 0..<3 {
            queue.leave(origin, lacksStream: true)
            enter("x", origin: origin, priority: .normal, &queue)
        }
        #expect(names(&queue).isEmpty && queue.active == 3)
        for _ in 0..<40 { enter("x", origin: origin, priority: .normal, &queue) }
        for _ in 0..<23 {
            queue.leave(origin)
            #expect(names(&queue).count == 1)
        }
        // Another transfer finds out whether there are more streams.
        queue.leave(origin)
        #expect(names(&queue).count == 2)
        // No transfer runs or waits any more: the lowered limit does not apply to the next burst.
        while queue.active > 0 {
            queue.leave(origin)
            _ = names(&queue)
        }
        for _ in 0..<6 { expectEntered(true, &queue, "x", origin: origin, priority: .normal) }
    }

    @Test func `an HTTP/2 origin opens no socket above its limit while other transfers run`()
        throws
    {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 2)
        origin.tally?.pointee.sockets = 2
        for _ in 0..<3 { enter("x", origin: origin, priority: .normal, &queue) }
        #expect(origin.mayOpenSocket(for: 1))
        queue.learn(.http2, of: origin)
        // No other transfer runs whose end it could wait for.
        #expect(origin.mayOpenSocket(for: 1))
        #expect(names(&queue).count == 1)
        #expect(!origin.mayOpenSocket(for: 1))
        origin.figures.webSockets = 1
        #expect(origin.mayOpenSocket(for: 1))
        origin.figures.webSockets = 0
        origin.tally?.pointee.sockets = 1
        #expect(origin.mayOpenSocket(for: 1))
        origin.tally?.pointee.sockets = 0
    }

    @Test func `one transfer opens a connection to an HTTP/2 origin, and others wait for it`()
        throws
    {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 2)
        queue.learn(.http2, of: origin)
        for _ in 0..<6 { expectEntered(true, &queue, "x", origin: origin, priority: .normal) }
        // Two addresses of the host.
        #expect(origin.mayOpenSocket(for: 1) && origin.mayOpenSocket(for: 1))
        for waiting in 2...4 {
            #expect(!origin.mayOpenSocket(for: UInt64(waiting)))
            queue.leave(origin, lacksStream: true)
            enter("\(waiting)", origin: origin, priority: .normal, &queue)
        }
        #expect(queue.active == 3 && names(&queue).isEmpty)
        // Without the connection one of them may try; with it, as many as it has streams for.
        queue.endOpening(origin, hasConnection: false)
        #expect(names(&queue) == ["2"] && origin.mayOpenSocket(for: 2))
        queue.endOpening(origin, hasConnection: true)
        #expect(names(&queue) == ["3", "4"])
        for _ in 0..<96 { expectEntered(true, &queue, "x", origin: origin, priority: .normal) }
    }

    @Test func `each transfer to an HTTP/1 origin opens its connection`() throws {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 2)
        queue.learn(.http1, of: origin)
        #expect(origin.mayOpenSocket(for: 1) && origin.mayOpenSocket(for: 2))
        #expect(origin.opener == nil)
    }

    @Test func `transfers wait for the first one until the HTTP version is known`() throws {
        for version in [OriginQueue<String>.Version.http1, .http2] {
            var queue = AdmissionQueue<String>(limit: 1000)
            let origin = try OriginQueue<String>(named("origin"), limit: 2, isNegotiated: true)
            expectEntered(true, &queue, "first", origin: origin, priority: .normal)
            for name in ["a", "b", "c"] {
                expectEntered(false, &queue, name, origin: origin, priority: .normal)
            }
            #expect(origin.waitsForFirst && names(&queue) == [])
            queue.learn(version, of: origin)
            #expect(!origin.waitsForFirst)
            #expect(names(&queue) == (version == .http1 ? ["a"] : ["a", "b", "c"]))
        }
    }

    @Test func `waiting transfers start when the first has failed, and the next burst waits`()
        throws
    {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 3, isNegotiated: true)
        enter("first", origin: origin, priority: .normal, &queue)
        for name in ["a", "b", "c", "d"] { enter(name, origin: origin, priority: .normal, &queue) }
        queue.stopWaitingForFirst(origin)
        queue.leave(origin)
        #expect(names(&queue) == ["a", "b", "c"])
        for _ in 0..<3 { queue.leave(origin) }
        #expect(names(&queue) == ["d"])
        queue.leave(origin)
        #expect(origin.waitsForFirst)
    }

    @Test func `the next transfer becomes the first when the first has left`() throws {
        var queue = AdmissionQueue<String>(limit: 1000)
        let origin = try OriginQueue<String>(named("origin"), limit: 3, isNegotiated: true)
        for name in ["first", "a", "b"] { enter(name, origin: origin, priority: .normal, &queue) }
        queue.leave(origin)
        #expect(names(&queue) == ["a"])
    }

    @Test func `a waiting transfer that is removed does not start`() throws {
        var queue = AdmissionQueue<String>(limit: 10)
        let origin = try OriginQueue<String>(named("origin"), limit: 1)
        _ = queue.enter(origin)
        let tickets = ["1", "2", "3"].map {
            queue.wait($0, origin: origin, priority: .normal)
        }
        let high = queue.wait("high", origin: origin, priority: .high)
        queue.remove(ticket: tickets[1], origin: origin, priority: .normal)
        queue.remove(ticket: tickets[1], origin: origin, priority: .normal)
        queue.remove(ticket: high, origin: origin, priority: .high)
        var order: [String] = []
        for _ in 0..<3 {
            queue.leave(origin)
            order += names(&queue)
        }
        #expect(order == ["1", "3"])
        #expect(queue.active == 0)
        queue.remove(ticket: tickets[0], origin: origin, priority: .normal)
        let starts = queue.enter(origin)
        #expect(starts)
    }

    @Test func `a wait queue keeps its order and releases removed elements`() {
        final class Waiter {
            let number: Int
            init(_ number: Int) { self.number = number }
        }
        struct Reference { weak var waiter: Waiter? }
        var line = WaitQueue<Waiter>()
        var references: [Reference] = []
        var tickets: [Int] = []
        var expected: [Int] = []
        var taken: [Int] = []
        for number in 0..<1000 {
            let waiter = Waiter(number)
            references.append(Reference(waiter: waiter))
            tickets.append(line.append(waiter))
            if number % 7 == 0, let first = line.popFirst() { taken.append(first.number) }
        }
        for number in 0..<1000 where !taken.contains(number) {
            if number % 3 == 0 {
                expected.append(number)
            } else {
                let removals = [line.remove(tickets[number]), line.remove(tickets[number])]
                #expect(removals == [true, false])
                #expect(references[number].waiter == nil)
            }
        }
        #expect(line.count == expected.count)
        var rest: [Int] = []
        while let first = line.popFirst() { rest.append(first.number) }
        #expect(taken == Array(0..<taken.count) && rest == expected)
        #expect(line.isEmpty && references.allSatisfy { $0.waiter == nil })
        let removals = [line.remove(tickets[999]), line.remove(1000)]
        #expect(removals == [false, false])
    }
}

@Suite struct `The deadline heap` {
    private final class Entry: DeadlineEntry {
        var deadline: Int64 = 0
        var deadlineIndex = -1
    }

    @Test func `the earliest deadline is first after changes and removals`() {
        var heap = DeadlineHeap<Entry>()
        var random = SystemRandomNumberGenerator()
        var entries = (0..<200).map { _ in Entry() }
        for entry in entries { heap.set(entry, to: Int64.random(in: 0..<1000, using: &random)) }
        for entry in entries.prefix(100) {
            heap.set(entry, to: Int64.random(in: 0..<1000, using: &random))
        }
        for _ in 0..<50 {
            let gone = entries.remove(at: Int.random(in: 0..<entries.count, using: &random))
            heap.remove(gone)
            heap.remove(gone)
            #expect(gone.deadlineIndex == -1)
        }
        var order: [Int64] = []
        while let first = heap.first {
            order.append(first.deadline)
            heap.remove(first)
        }
        #expect(order == entries.map(\.deadline).sorted())
    }
}

@Suite struct `The loops of a transport` {
    private let plain = HTTPRequest(url: URL(string: "http://example.test/a"))

    private func group(perHost: Int, _ version: HTTPVersionPolicy = .automatic) -> LoopGroup {
        var configuration = TransportConfiguration()
        configuration.httpVersion = version
        configuration.httpMaximumConnectionsPerHost = perHost
        return LoopGroup(TransportSettings(configuration, environment: [:]))
    }

    /// Closes the loops; each retains itself until it is closed.
    private func close(_ group: inout LoopGroup) {
        for loop in group.close() { loop.close(.drain) }
    }

    @Test func `file transfers use a separate loop`() throws {
        var group = group(perHost: 64)
        defer { close(&group) }
        let data = try group.loop(isBulk: false, for: plain)
        let bulk = try group.loop(isBulk: true, for: plain)
        #expect(data !== bulk)
        #expect(try group.loop(isBulk: true, for: plain) === bulk)
        for _ in 0..<10_000 { data.load.rise() }
        #expect(try group.loop(isBulk: false, for: plain) === data)
        #expect(group.all.count == 2)
    }

    @Test func `a second loop is used only while the first is full`() throws {
        var group = group(perHost: 1024)
        defer { close(&group) }
        let first = try group.loop(isBulk: false, for: plain)
        for _ in 0..<LoopGroup.transfersPerShard { first.load.rise() }
        let second = try group.loop(isBulk: false, for: plain)
        #expect(second !== first)
        for _ in 0..<LoopGroup.transfersPerShard { second.load.rise() }
        second.load.fall()
        #expect(try group.loop(isBulk: false, for: plain) === second)
        first.load.fall()
        first.load.fall()
        second.load.rise()
        #expect(try group.loop(isBulk: false, for: plain) === first)
        #expect(group.all.count == 2)
    }

    @Test(arguments: [(512, 1), (513, 2), (1024, 2), (1025, 3), (100_000, 8)])
    func `the number of loops depends on the connections per host and is at most 8`(
        perHost: Int, count: Int
    ) throws {
        var group = group(perHost: perHost)
        defer { close(&group) }
        for _ in 0..<count {
            let loop = try group.loop(isBulk: false, for: plain)
            for _ in 0..<LoopGroup.transfersPerShard { loop.load.rise() }
        }
        // All loops are full: the one with the fewest transfers gets the next.
        let last = try #require(group.all.last)
        last.load.fall()
        last.load.rise()
        for loop in group.all.dropLast() { loop.load.rise() }
        #expect(try group.loop(isBulk: false, for: plain) === last)
        #expect(group.all.count == count)
    }

    @Test func `a second loop is used when the first has its share of an origin's connections`()
        throws
    {
        var group = group(perHost: 600)
        defer { close(&group) }
        let first = try group.loop(isBulk: false, for: plain)
        for _ in 0..<300 {
            #expect(try group.loop(isBulk: false, for: plain) === first)
            first.load.rise()
        }
        let second = try group.loop(isBulk: false, for: plain)
        #expect(second !== first)
        #expect(group.all.count == 2)
    }

    @Test func `two loops share an origin's connections only if one is not enough`() throws {
        for (perHost, share) in [(512, 512), (513, 256), (1024, 512)] {
            var configuration = TransportConfiguration()
            configuration.httpMaximumConnectionsPerHost = perHost
            let settings = TransportSettings(configuration, environment: [:])
            let origin = try Origin(#require(plain.url))
            #expect(LoopGroup.share(of: origin, settings, among: 2) == share)
        }
    }

    @Test func `an origin that may use HTTP/2 stays on the first loop even if it is full`() throws {
        let secure = HTTPRequest(url: URL(string: "https://example.test/a"))
        for (version, stays) in [
            (HTTPVersionPolicy.automatic, true), (.http2PriorKnowledge, true), (.http1, false),
        ] {
            var group = group(perHost: 1024, version)
            defer { close(&group) }
            let first = try group.loop(isBulk: false, for: secure)
            for _ in 0..<LoopGroup.transfersPerShard { first.load.rise() }
            #expect(try (group.loop(isBulk: false, for: secure) === first) == stays)
            #expect(
                try (group.loop(isBulk: false, for: plain) === first)
                    == (version == .http2PriorKnowledge))
        }
    }

    @Test func `an origin that is known to use HTTP/1 uses several loops`() throws {
        var group = group(perHost: 1024)
        defer { close(&group) }
        let secure = HTTPRequest(url: URL(string: "https://Example.test/a"))
        let first = try group.loop(isBulk: false, for: secure)
        for _ in 0..<LoopGroup.transfersPerShard { first.load.rise() }
        let origin = try Origin(#require(URL(string: "https://example.test:443/b")))
        first.shared.learn(origin, isHTTP1: true)
        #expect(try group.loop(isBulk: false, for: secure) !== first)
        let other = HTTPRequest(url: URL(string: "https://example.test:444/a"))
        #expect(try group.loop(isBulk: false, for: other) === first)
        first.shared.learn(origin, isHTTP1: false)
        #expect(try group.loop(isBulk: false, for: secure) === first)
    }

    @Test(arguments: [HTTPVersionPolicy.automatic, .http1])
    func `all loops learn the HTTP version of an origin from one transfer`(
        version: HTTPVersionPolicy
    ) async throws {
        let nginx = try await Nginx.shared()
        var configuration = TransportConfiguration.test {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        }
        configuration.httpVersion = version
        var group = LoopGroup(TransportSettings(configuration, environment: [:]))
        let url = try #require(URL(string: "\(nginx.baseURL(.tls))/info"))
        let job = TransferJob(request: HTTPRequest(url: url))
        let loop = try group.loop(isBulk: false, for: job.request)
        let probe = Probe()
        loop.post(
            .start(CurlTransfer(job, handler: probe, loop: loop, patience: 20_000_000)))
        #expect(try await probe.end.value().error == nil)
        #expect(try loop.shared.isKnownHTTP1(Origin(url)) == (version == .http1))
        for loop in group.close() { loop.close(.drain) }
    }

    @Test func `a closed group of loops refuses transfers`() throws {
        var group = group(perHost: 64)
        let loop = try group.loop(isBulk: false, for: plain)
        defer { loop.close(.drain) }
        #expect(group.close().first === loop)
        #expect(throws: TransferError.self) { try group.loop(isBulk: false, for: plain) }
    }
}

import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

@testable import OutletCurl

@Suite struct `The memory of large bodies` {
    private static let mebibyte = 1 << 20

    private func block(_ capacity: Int) throws -> BlockPool.Block {
        BlockPool.Block(base: try #require(malloc(capacity)), capacity: capacity)
    }

    /// A pool with idle blocks of some sizes.
    private func pool(_ sizes: Int...) throws -> BlockPool {
        let pool = BlockPool()
        #expect(pool.take(1) == nil)
        for size in sizes { pool.give(try block(size)) }
        return pool
    }

    @Test func `the smallest block that is large enough is used again`() throws {
        let pool = try pool(512 << 10, 128 << 10, 256 << 10)
        for size in [256 << 10, 512 << 10] {
            let block = try #require(pool.take(200 << 10))
            #expect(block.capacity == size)
            free(block.base)
        }
        #expect(pool.take(200 << 10) == nil)
        free(pool.take(1)?.base)
    }

    @Test(arguments: [(64 << 10) - 1, (8 << 20) + 1])
    func `very small and very large blocks are not kept`(size: Int) throws {
        #expect(try pool(size).take(1) == nil)
    }

    @Test func `at most 32 MiB are kept`() throws {
        let size = 8 << 20
        let pool = try pool(size, size, size, size, 64 << 10)
        for _ in 0..<4 { free(try #require(pool.take(1)).base) }
        #expect(pool.take(1) == nil)
    }

    @Test func `freed blocks, and those that are returned later, are not used again`() throws {
        let pool = try pool(64 << 10)
        pool.freeIdle()
        #expect(pool.freesReturned)
        pool.give(try block(64 << 10))
        #expect(pool.take(1) == nil)
        #expect(!pool.freesReturned)
    }

    @Test func `sizes are rounded up by at most an eighth`() {
        for size in [1, 7, 64 << 10, (64 << 10) + 1, 999_999, 1 << 20, 8 << 20] {
            let rounded = BlockPool.rounded(size)
            #expect(rounded >= size && rounded - size <= size / 8 + 1)
        }
        #expect(BlockPool.rounded((1 << 20) + 1) == 9 << 17)
    }

    @Test(arguments: [65 << 10, 300_000, 1 << 20])
    func `at most a third of the memory that a body keeps has no bytes`(size: Int) throws {
        let pool = try pool(4 << 20)
        var buffer = ByteBuffer(from: pool)
        let bytes = [UInt8](repeating: 120, count: size)
        let isAppended = bytes.withUnsafeBytes { buffer.append($0) }
        #expect(isAppended)
        var data = buffer.takeData()
        #expect(data.elementsEqual(bytes))
        #expect(pool.take(1) == nil)
        data = Data()
        let kept = try #require(pool.take(1))
        #expect(kept.capacity >= size && kept.capacity <= size * 3 / 2)
        free(kept.base)
    }

    @Test func `a body that grows keeps its bytes`() throws {
        let pool = try pool(128 << 10, 1 << 20)
        var buffer = ByteBuffer(from: pool)
        let piece = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
        for _ in 0..<50 {
            let isAppended = piece.withUnsafeBytes { buffer.append($0) }
            #expect(isAppended)
        }
        let data = buffer.takeData()
        #expect(data.count == 500_000)
        for start in stride(from: 0, to: data.count, by: piece.count) {
            #expect(data[start..<start + piece.count].elementsEqual(piece))
        }
        // The block that became too small is free again.
        let small = try #require(pool.take(1))
        #expect(small.capacity == 128 << 10)
        free(small.base)
    }

    /// A server that answers each request with 1 MiB of the number in its path, or with 1 byte if it
    /// has none.
    private func server() throws -> ScriptedServer {
        try .start(
            .answer { request in
                let number = UInt8(request.lastPart)
                let size = number == nil ? 1 : Self.mebibyte
                return Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8)
                    + Array(repeating: number ?? 0, count: size)
            }, .again)
    }

    private func isBody(_ body: Data?, of number: Int) -> Bool {
        body?.count == Self.mebibyte && body?.allSatisfy { $0 == UInt8(number) } == true
    }

    @Test func `a body that is kept is not changed by later ones`() async throws {
        let (server, transport) = (try server(), CurlTransport.test())
        var kept: [Data?] = []
        for number in 0..<12 {
            let body = try await transport.get("\(server.baseURL)/\(number)").body
            #expect(isBody(body, of: number))
            // The memory of the others is used for the next ones.
            if number % 3 == 0 { kept.append(body) }
        }
        for (index, body) in kept.enumerated() { #expect(isBody(body, of: index * 3)) }
    }

    /// Gets a body, waits for the end of its transport, and checks the body.
    ///
    /// - Returns: The heap's size with the body; the body is released then.
    private func heapWithBody(from server: ScriptedServer) async throws -> Int {
        let before = ProcessResources.now()
        var transport = Optional(CurlTransport.test())
        let body = try await transport?.get("\(server.baseURL)/7").body
        transport = nil
        let pools: Set = [ProcessResources.threadName, ProcessResources.processName]
        guard await ProcessResources.settle(to: before, pools: pools).isEmpty else { exit(2) }
        guard isBody(body, of: 7) else { exit(3) }
        return ProcessResources.now().heapBytes
    }

    @Test func `a body that outlives its transport keeps its bytes, and is freed`() async throws {
        try await #require(processExitsWith: .success) {
            let suite = Self()
            let server = try suite.server()
            // Another one, so that what the first one makes for good does not count.
            let other = CurlTransport.test()
            guard try await other.get("\(server.baseURL)/small").body?.count == 1 else { exit(1) }
            let held = try await suite.heapWithBody(from: server)
            guard held - ProcessResources.now().heapBytes >= Self.mebibyte else { exit(4) }
            withExtendedLifetime(other) {}
        }
    }

    /// The number of page faults of this process so far.
    private static var faults: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_minflt
    }

    @Test func `large bodies use memory that earlier ones have freed`() async throws {
        try await #require(processExitsWith: .success) {
            let size = String(Self.mebibyte, radix: 16)
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n"
            let response =
                Array(head.utf8) + Array(repeating: 120, count: Self.mebibyte)
                + Array("\r\n0\r\n\r\n".utf8)
            let server = try ScriptedServer.start(.request, .send(response), .again)
            let transport = CurlTransport.test()
            func round() async throws {
                let probes = (0..<16).map { _ in Probe() }
                for probe in probes {
                    let request = HTTPRequest(url: URL(string: server.baseURL))
                    _ = transport.start(TransferJob(request: request), handler: probe)
                }
                for probe in probes {
                    guard try await probe.end.value().body?.count == Self.mebibyte else { exit(1) }
                }
            }
            for _ in 0..<4 { try await round() }
            let before = Self.faults
            for _ in 0..<10 { try await round() }
            // A body has 256 pages.
            guard Self.faults - before < 10 * 16 * 256 / 16 else { exit(2) }
        }
    }

    @Test func `a thread that has run the loop itself keeps no memory for later bodies`()
        async throws
    {
        try await #require(processExitsWith: .success) {
            let suite = Self()
            let (server, transport) = (try suite.server(), CurlTransport.test())
            func fetch(_ part: String) async throws -> Data? {
                let request = HTTPRequest(url: URL(string: "\(server.baseURL)/\(part)"))
                return try await offPool { transport.perform(TransferJob(request: request)).body }
            }
            guard try await fetch("small")?.count == 1 else { exit(1) }
            let before = ProcessResources.now().heapBytes
            for number in 1...2 {
                guard suite.isBody(try await fetch("\(number)"), of: number) else { exit(2) }
            }
            guard ProcessResources.now().heapBytes - before < Self.mebibyte / 2 else { exit(3) }
        }
    }

    /// Waits until the memory of two bodies has been freed.
    ///
    /// - Parameter isWaiting: Whether another request waits for its response meanwhile.
    /// - Returns: 0 on success; otherwise the number of the step that failed.
    private func stepsUntilFreed(isWaiting: Bool) async throws -> Int32 {
        let (server, transport) = (try server(), CurlTransport.test())
        guard try await transport.get("\(server.baseURL)/small").body?.count == 1 else { return 1 }
        let silent = try ScriptedServer.start(.request, .stall)
        let probe = Probe()
        if isWaiting {
            let request = HTTPRequest(url: URL(string: silent.baseURL))
            _ = transport.start(TransferJob(request: request), handler: probe)
            _ = try await silent.requests.values(1)
        }
        let before = ProcessResources.now()
        for number in 1...2 {
            let body = try await transport.get("\(server.baseURL)/\(number)").body
            guard isBody(body, of: number) else { return 2 }
        }
        guard ProcessResources.now().heapBytes - before.heapBytes > Self.mebibyte else { return 3 }
        let excess = await ProcessResources.settle(
            to: before, pools: [ProcessResources.threadName, ProcessResources.processName],
            heap: Self.mebibyte / 2)
        guard !excess.contains(where: { $0.contains("heap") }) else { return 4 }
        return withExtendedLifetime((transport, silent)) { 0 }
    }

    @Test func `a loop that has nothing to do for 5 s frees the memory`() async throws {
        try await #require(processExitsWith: .success) {
            exit(try await Self().stepsUntilFreed(isWaiting: false))
        }
    }

    @Test func `a loop that only waits for a response for 5 s frees the memory`() async throws {
        try await #require(processExitsWith: .success) {
            exit(try await Self().stepsUntilFreed(isWaiting: true))
        }
    }
}

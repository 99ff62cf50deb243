import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

extension AloneTests {
    /// More requests to one host than its connection limit.
    @Suite(.timeLimit(.minutes(2 * patience))) struct CrowdTests {
        @Test func `10,000 requests to one host all end without leaks`() async {
            await #expect(processExitsWith: .success) {
                // Enough to fill the cache of the last few hundred URLs.
                var count = 1000
                try await LeakCheck.none {
                    try await CrowdTests.crowd(of: count)
                    count = 10_000
                }
            }
        }

        /// Requests of three priorities in turn, with four running at a time.
        private static func crowd(of count: Int) async throws {
            let gate = try Gate()
            let server = try ScriptedServer.start(
                .request, .wait(gate), .respond(body: "x"), .again)
            defer { server.stop() }
            let session = Session.isolated { $0.httpMaximumConnectionsPerHost = 4 }
            let priorities: [TransferPriority] = [.low, .normal, .high]
            let ended = ExactlyOnce<RequestKind.Outcome>()
            for number in 0..<count {
                let request = session.request("\(server.baseURL)/\(number)")
                    .priority(priorities[number % 3])
                RequestKind.handle(request, ended.completion())
            }
            try await server.requests.values(4)
            gate.open()
            let outcomes = try await ended.values(within: .seconds(60))
            #expect(outcomes.allSatisfy { $0.error == nil && $0.text == "x" })
            #expect(ended.fault == nil)
            #expect(server.connections.count == 4 && server.requests.count == count)
            guard count > 1000 else { return }
            let order = server.requests.values.compactMap { Int($0.lastPart) }
            // Sixteen start before each one of lower priority, so eight of nine are urgent.
            let first = order.prefix(count / 3)
            #expect(first.count { $0 % 3 == 2 } > first.count * 85 / 100)
            #expect(order.suffix(count / 4).count { $0 % 3 == 0 } > count / 4 * 85 / 100)
            // Requests of one priority start in order; each connection records them in order.
            for connection in 0..<4 {
                let came = server.requests.values.filter { $0.connection == connection }
                    .compactMap { Int($0.lastPart) }
                for priority in 0..<3 {
                    let same = came.filter { $0 % 3 == priority }
                    #expect(same == same.sorted())
                }
            }
        }

        @Test func `5,000 requests that are cancelled in the queue end without leaks`() async {
            await #expect(processExitsWith: .success) {
                try await LeakCheck.none { try await CrowdTests.cancelledCrowd(of: 5_000) }
            }
        }

        private static func cancelledCrowd(of count: Int) async throws {
            let server = try ScriptedServer.start(.request, .stall)
            defer { server.stop() }
            let session = Session.isolated { $0.httpMaximumConnectionsPerHost = 4 }
            let ended = ExactlyOnce<RequestKind.Outcome>()
            for _ in 0..<count {
                RequestKind.handle(session.request(server.baseURL), ended.completion())
            }
            try await server.requests.values(4)
            session.cancelAllRequests()
            let outcomes = try await ended.values(within: .seconds(60))
            #expect(outcomes.allSatisfy { $0.error?.isExplicitlyCancelledError == true })
            #expect(ended.fault == nil)
        }
    }
}

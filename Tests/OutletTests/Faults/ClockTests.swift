import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

extension AloneTests {
    /// The wall clock jumps by a year while requests are running, in a separate process.
    @Suite(.timeLimit(.minutes(patience))) struct ClockTests {
        private static let year = 365 * 86_400

        @Test(arguments: [1, -1])
        func `deadlines are not affected when the wall clock jumps`(direction: Int) async {
            await #expect(processExitsWith: .success) { [direction] in
                try await ClockTests.jump(by: direction * ClockTests.year)
            }
        }

        /// Data that is valid for an hour is not valid after a year, and data with a date in the
        /// future is not used.
        @Test func `cookies and stored responses expire when the clock jumps in either direction`()
            async
        {
            await #expect(processExitsWith: .success) {
                let server = try ScriptedServer.start(
                    .request,
                    .respond(
                        headers: [
                            "Set-Cookie: a=b; Max-Age=3600",
                            // `public`, so that requests with and without the cookie use it.
                            "Cache-Control: public, max-age=3600",
                        ], body: "x"), .again)
                let session = Session.isolated {
                    $0.urlCache = ResponseCache()
                    $0.httpCookieStorage = CookieStorage()
                }
                func get() async -> String? {
                    await session.request(server.baseURL).serializingString().response.value
                }
                for _ in 0..<2 { #expect(await get() == "x") }
                #expect(server.requests.count == 1)
                WallClock.shift(seconds: ClockTests.year)
                #expect(await get() == "x")
                #expect(server.requests.count == 2)
                #expect(try !server.requests.values.at(1).head.contains("Cookie"))
                WallClock.shift(seconds: -2 * ClockTests.year)
                #expect(await get() == "x")
                #expect(server.requests.count == 3)
                #expect(await get() == "x")
                #expect(server.requests.count == 3)
            }
        }

        @Test func `a stapled response is valid until its nextUpdate`() async {
            await #expect(processExitsWith: .success) {
                let authority = try await TestCA()
                let good = try await authority.revocation().good
                let staple = try await authority.staple(good, validity: ["-nmin", "1"])
                let shown = ServerTrust(
                    host: "localhost", sentCertificates: try Certificate.load(good.certificatePath),
                    anchors: try Certificate.load(authority.certificatePath),
                    ocspResponse: try Data(contentsOf: URL(filePath: staple)))
                let evaluator = RevocationTrustEvaluator(options: .ocsp)
                // Clocks may differ by five minutes.
                for (time, isBelieved) in [(0, true), (240, true), (240, false)] {
                    WallClock.shift(seconds: time)
                    #expect(shown.chainFault == nil)
                    let isTrusted = (try? evaluator.evaluate(shown, forHost: "localhost")) != nil
                    #expect(isTrusted == isBelieved)
                }
                withExtendedLifetime(authority) {}
            }
        }

        @Test func `a stapled response without nextUpdate is valid for a day`() async {
            await #expect(processExitsWith: .success) {
                let authority = try await TestCA()
                let good = try await authority.revocation().good
                let staple = try await authority.staple(good, validity: [])
                let shown = ServerTrust(
                    host: "localhost", sentCertificates: try Certificate.load(good.certificatePath),
                    anchors: try Certificate.load(authority.certificatePath),
                    ocspResponse: try Data(contentsOf: URL(filePath: staple)))
                let evaluator = RevocationTrustEvaluator(options: .ocsp)
                for (time, isBelieved) in [(0, true), (86_100, true), (1200, false)] {
                    WallClock.shift(seconds: time)
                    #expect(shown.chainFault == nil)
                    let isTrusted = (try? evaluator.evaluate(shown, forHost: "localhost")) != nil
                    #expect(isTrusted == isBelieved)
                }
                withExtendedLifetime(authority) {}
            }
        }

        private static func jump(by seconds: Int) async throws {
            let gate = try Gate()
            let patient = try ScriptedServer.start(.request, .wait(gate), .respond(body: "late"))
            let silent = try ScriptedServer.start(.request, .stall)
            let broken = try ScriptedServer.start {
                $0 == 0 ? [.request] : [.request, .respond(body: "again")]
            }
            let adapted = Recorder<Int>()
            let adapter = Adapter { _, _, _ in adapted.record(1) }
            let retried = Recorder<Int>()
            let retrier = Retrier { _, _, _, completion in
                completion(.retryWithDelay(0.3))
                retried.record(1)
            }
            let session = Session.isolated { $0.interceptorTimeout = 0.3 }
            let ended = ExactlyOnce<RequestKind.Outcome>()
            let waits = RequestKind.allCases.map { $0.request(patient.baseURL, by: session) }
            let stalls = RequestKind.allCases.map {
                $0.request(silent.baseURL, by: session) { $0.timeoutInterval = 0.3 }
            }
            let retry = session.request(
                broken.baseURL, interceptor: Interceptor(retriers: [retrier]))
            let adapt = session.request(
                silent.baseURL, interceptor: Interceptor(adapters: [adapter]))
            for request in waits + stalls + [retry, adapt] {
                RequestKind.handle(request, ended.completion())
            }
            try await patient.requests.values(4)
            try await silent.requests.values(4)
            try await retried.values(1)
            try await adapted.values(1)

            let before = Date()
            WallClock.shift(seconds: seconds)
            #expect(abs(Date().timeIntervalSince(before) - Double(seconds)) < 600)

            // A request whose timeout begins after the jump ends while the others still wait.
            let after = try await RequestKind.data.outcome(
                silent.baseURL,
                by: .isolated {
                    $0.timeoutIntervalForRequest = 0.3
                })
            #expect(after.transfer?.code == .timedOut)
            gate.open()
            let outcomes = try await ended.values()
            #expect(outcomes[0..<4].allSatisfy { $0.error == nil && $0.text == "late" })
            #expect(outcomes[4..<8].allSatisfy { $0.transfer?.code == .timedOut })
            #expect(outcomes[8].error == nil && outcomes[8].text == "again")
            #expect(outcomes[9].error?.isRequestAdaptationError == true)
            #expect(ended.fault == nil)
        }
    }
}

import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Idle connections that close at any time, and early responses.
@Suite(.timeLimit(.minutes(patience))) struct RepeatTests {
    /// Closes each connection after a number of responses from a fixed sequence, with the next
    /// request read or unread.
    private func closingServer() throws -> ScriptedServer {
        try ScriptedServer.start { connection in
            let answers = Array(
                repeating: [Step.request, .respond(body: "x")], count: connection * 7 % 5)
            let end: [[Step]] = [[], [.request], [.request, .reset], [.reset]]
            return answers.flatMap { $0 } + end[connection * 3 % 4]
        }
    }

    private func send(_ method: HTTPMethod, _ count: Int, to server: ScriptedServer)
        async throws -> [RequestKind.Outcome]
    {
        let session = Session.isolated { $0.httpMaximumConnectionsPerHost = 4 }
        let ended = ExactlyOnce<RequestKind.Outcome>()
        for number in 0..<count {
            let request = session.request(
                "\(server.baseURL)/\(number)", method: method,
                requestModifier: { $0.body = method == .post ? .data(Data([1])) : .none })
            RequestKind.handle(request, ended.completion())
        }
        let outcomes = try await ended.values()
        #expect(ended.fault == nil)
        return outcomes
    }

    private func expectLostOrFine(_ outcomes: [RequestKind.Outcome]) {
        for outcome in outcomes where outcome.error != nil {
            // A connection that is reset before anything was sent looks like a refused one.
            let code = outcome.transfer?.code
            #expect(
                code == .networkConnectionLost || code == .cannotConnectToHost,
                "\(outcome.error.map { "\($0)" } ?? "")")
        }
    }

    @Test func `a POST reaches the server at most once`() async throws {
        let server = try closingServer()
        let outcomes = try await send(.post, 200, to: server)
        expectLostOrFine(outcomes)
        #expect(outcomes.contains { $0.error == nil } && outcomes.contains { $0.error != nil })
        var seen: [Substring: Int] = [:]
        for request in server.requests.values { seen[request.lastPart, default: 0] += 1 }
        #expect(seen.allSatisfy { $0.value == 1 })
        let answered = outcomes.indices.filter { outcomes[$0].error == nil }
        #expect(answered.allSatisfy { seen["\($0)"] == 1 && outcomes[$0].text == "x" })
    }

    @Test func `a GET that fails after a second attempt is a lost connection`() async throws {
        let server = try closingServer()
        let outcomes = try await send(.get, 200, to: server)
        expectLostOrFine(outcomes)
        #expect(outcomes.contains { $0.error == nil })
    }

    /// The server responds and closes after it has read only the head.
    @Test(arguments: ["data", "file", "stream"])
    func `a response before the body is read is the final response`(body: String) async throws {
        let server = try ScriptedServer.start(
            .requestHead,
            .respond("413 Content Too Large", headers: ["Connection: close"], body: "no"))
        let directory = try TemporaryDirectory()
        let session = Session.isolated()
        let size = 8 << 20
        let request =
            switch body {
            case "data": session.upload(Data(count: size), to: server.baseURL)
            case "file":
                session.upload(
                    URL(
                        filePath: try directory.write(
                            [UInt8](repeating: 0, count: size), to: "file")),
                    to: server.baseURL)
            default: session.upload(Zeros(count: size), to: server.baseURL)
            }
        let outcome = try await RequestKind.outcome(of: request, by: session)
        #expect(outcome.error == nil && outcome.statusCode == 413 && outcome.text == "no")
        #expect(server.requests.count == 1)
    }

    @Test func `a request whose response is followed by a reset is not sent again`()
        async throws
    {
        let server = try ScriptedServer.start(
            .requestHead, .respond("413 Content Too Large", headers: ["Connection: close"]), .reset)
        let outcome = try await RequestKind.upload.outcome(
            server.baseURL, by: .isolated(), body: Data(count: 8 << 20))
        #expect(outcome.statusCode == 413 || outcome.transfer?.code == .networkConnectionLost)
        #expect(server.requests.count == 1)
    }
}

/// A stream of zeros.
private final class Zeros: BodyStream {
    let length: Int64?
    private let left: Lock<Int>

    init(count: Int) {
        length = Int64(count)
        left = Lock(count)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        left.withLock { left in
            let count = min(left, buffer.count)
            buffer.prefix(count).initializeMemory(as: UInt8.self, repeating: 0)
            left -= count
            return count
        }
    }

    func rewind() throws { throw TestSupportError("zeros: cannot go back") }
}

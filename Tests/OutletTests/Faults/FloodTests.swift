import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Servers that send more than the limits allow.
@Suite(.timeLimit(.minutes(patience))) struct FloodTests {
    @Test(arguments: RequestKind.allCases)
    func `100,000 header fields are refused`(kind: RequestKind) async throws {
        let fields = String(repeating: "A: b\r\n", count: 100_000)
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n"))
        let outcome = try await kind.outcome(server.baseURL, by: .isolated())
        #expect(outcome.transfer?.code == .headerFieldsExceedMaximum)
        #expect(outcome.transfer?.reason == "the response has more than 2000 header fields")
    }

    @Test(arguments: RequestKind.allCases)
    func `100,000 trailer fields are refused`(kind: RequestKind) async throws {
        let fields = String(repeating: "A: b\r\n", count: 100_000)
        let server = try ScriptedServer.start(
            .request,
            .send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\(fields)\r\n"
            ))
        let outcome = try await kind.outcome(server.baseURL, by: .isolated())
        #expect(outcome.transfer?.code == .headerFieldsExceedMaximum)
    }

    @Test(arguments: RequestKind.allCases)
    func `endless interim responses are refused`(kind: RequestKind) async throws {
        let flood = String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 1000)
        let server = try ScriptedServer.start { connection in
            [.request] + Array(repeating: .send(flood), count: 100) + [.respond()]
        }
        let outcome = try await kind.outcome(server.baseURL, by: .isolated())
        #expect(outcome.transfer?.code == .badServerResponse)
    }

    @Test(arguments: RequestKind.allCases)
    func `interim responses are not part of the final response`(kind: RequestKind) async throws {
        let interim = String(
            repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 20)
        let server = try ScriptedServer.start(.request, .send(interim), .respond(body: "x"))
        let outcome = try await kind.outcome(server.baseURL, by: .isolated())
        #expect(outcome.error == nil && outcome.statusCode == 200 && outcome.text == "x")
    }

    @Test(arguments: RequestKind.allCases)
    func `circular and endless redirects are limited to 20`(kind: RequestKind) async throws {
        for circle in [true, false] {
            let server = try ScriptedServer.start { _ in
                let next: Step = .answer { request in
                    let number = (Int(request.lastPart) ?? 0) + 1
                    let place = "/\(circle ? number % 2 : number)"
                    let lines = ["HTTP/1.1 307 Temporary Redirect", "Location: \(place)"]
                    return Array(
                        (lines + ["Content-Length: 0", "\r\n"]).joined(separator: "\r\n").utf8)
                }
                return [next, .again]
            }
            let outcome = try await kind.outcome("\(server.baseURL)/0", by: .isolated())
            #expect(outcome.transfer?.code == .httpTooManyRedirects)
            #expect(outcome.transfer?.reason.contains("20") == true)
            #expect(server.requests.count == 21)
            #expect(server.connections.count == 1)
        }
    }

    @Test(arguments: RequestKind.allCases)
    func `a decompression bomb is an error`(kind: RequestKind) async throws {
        // 16 MiB of zeros in Brotli.
        let bomb = try #require(Data(base64Encoded: "y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v3f"))
        let head =
            "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: \(bomb.count)\r\n\r\n"
        let server = try ScriptedServer.start(.request, .send(Array(head.utf8) + bomb), .stall)
        let session = Session.isolated { $0.decompressionRatioExemptSize = 8 << 20 }
        // Downloads do not accept codings by default.
        let request = kind.request(server.baseURL, by: session) {
            $0.headers.update(name: "Accept-Encoding", value: "br")
        }
        let outcome = try await RequestKind.outcome(of: request, by: session)
        #expect(outcome.transfer?.code == .decompressionLimitExceeded)
        #expect(outcome.bytes.count <= 9 << 20)
    }
}

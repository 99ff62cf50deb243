import FoundationEssentials
import OutletHTTP
import OutletTesting
import OutletTransport

/// Generates requests and responses from a seed.
///
/// Thread: any.
final class MadeRequests: Sendable {
    private let random: Lock<SeededRandom>
    private let answers = Lock(0)

    /// How a request is sent.
    enum Kind: CaseIterable, Sendable { case data, download, stream, webSocket }

    init(seed: UInt64) { random = Lock(SeededRandom(seed: seed)) }

    /// Generates the next request.
    func request() -> HTTPRequest { random.withLock { Self.request(&$0) } }

    /// Chooses how the next request is sent.
    func kind() -> Kind {
        random.withLock { $0.pick(.data, .data, .data, .download, .stream, .webSocket) }
    }

    /// The number of responses so far: one for each attempt and each redirect of a request.
    var answerCount: Int { answers.withLock { $0 } }

    /// Generates the next response; requests with the WebSocket path may get a WebSocket.
    func answer(to job: TransferJob) -> StubAnswer {
        answers.withLock { $0 += 1 }
        return random.withLock { random in
            job.request.url?.path() == Self.socketPath && random.pick(true, true, false)
                ? .webSocket([
                    .send(.string("made up")), .send(.data(Data([0, 255]))), .close(.normalClosure),
                ])
                : Self.answer(&random)
        }
    }

    /// The path of WebSocket requests.
    private static let socketPath = "/socket"

    /// Generates the next WebSocket request.
    func socketRequest() -> HTTPRequest {
        var request = HTTPRequest(url: URL(string: "ws://check.example\(Self.socketPath)"))
        request.headers = random.withLock { Self.headers(&$0) }
        return request
    }

    private static func request(_ random: inout SeededRandom) -> HTTPRequest {
        let path = random.pick("", "/", "/a/b%20c", "/%C3%A9?q=1&q=&%00", "/" + long(2000))
        var request = HTTPRequest(
            url: URL(string: "http://check.example\(path)"),
            method: HTTPMethod(
                rawValue: random.pick(
                    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "X-CHECK")))
        request.headers = headers(&random)
        guard ![.get, .head].contains(request.method) else { return request }
        request.body = body(&random).map { .data($0) } ?? .none
        return request
    }

    private static func answer(_ random: inout SeededRandom) -> StubAnswer {
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            return .failure(
                TransferError(
                    code: random.pick(
                        .timedOut, .networkConnectionLost, .cannotConnectToHost,
                        .badServerResponse),
                    reason: "made up by the checker"))
        case 1:
            let code = random.pick(301, 302, 303, 307, 308)
            return .redirect(code, to: random.pick("/next", "http://other.example/", "?again"))
        case 2:
            return .status(
                random.pick(429, 503), headers: ["Retry-After": random.pick("0", "1", "x", "-5")])
        default:
            let code = random.pick(200, 200, 201, 204, 304, 400, 401, 403, 404, 418, 500, 599)
            let body = code == 204 || code == 304 ? nil : body(&random)
            return StubAnswer(
                statusCode: code, headers: headers(&random), body: body ?? Data(),
                chunkSize: max((body?.count ?? 0) / 10, random.pick(1, 1000, 16_384)))
        }
    }

    private static func headers(_ random: inout SeededRandom) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for number in 0..<random.pick(0, 1, 3, 20, 200) {
            // Non-ASCII characters are passed on as their UTF-8 bytes.
            let value = random.pick("", "1", "a, b;c=\"d\"", "\u{FF}\u{E9} \u{20AC}", long(4000))
            headers.append(name: random.pick("X-Check", "X-Check-\(number)"), value: value)
        }
        return headers
    }

    private static func body(_ random: inout SeededRandom) -> Data? {
        switch Int.random(in: 0..<8, using: &random) {
        case 0...1: return nil
        case 2: return Data()
        case 3: return Data((0..<256).map { UInt8($0) })
        case 4: return Data(repeating: 0x20, count: 300_000)
        case 5: return Data(#"{"a": [1, 2, {"b": null}], "c": "\u0000"}"#.utf8)
        default: return Data("a=1&b=2".utf8)
        }
    }

    private static func long(_ count: Int) -> String { String(repeating: "a", count: count) }
}

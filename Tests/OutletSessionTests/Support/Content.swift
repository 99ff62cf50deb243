import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTesting
import OutletTransport

/// A server's resource: answers range requests, and can lose the connection at a given byte.
final class Content: Sendable {
    struct State {
        var bytes: Data
        var tag: String?
        /// The numbers of body bytes after which the next responses fail, in order.
        var breaks: [Int]
    }

    let state: Lock<State>

    init(_ text: String, tag: String? = "\"v1\"", breaks: [Int] = []) {
        state = Lock(State(bytes: Data(text.utf8), tag: tag, breaks: breaks))
    }

    var transport: StubTransport { StubTransport { self.answer($0.request) } }

    func change(to text: String, tag: String) {
        state.withLock { $0 = State(bytes: Data(text.utf8), tag: tag, breaks: $0.breaks) }
    }

    func answer(_ request: HTTPRequest) -> StubAnswer {
        let (bytes, tag, limit) = state.withLock { state in
            (state.bytes, state.tag, state.breaks.isEmpty ? nil : state.breaks.removeFirst())
        }
        var headers = HTTPHeaders(["Content-Type": "text/plain"])
        if let tag { headers.add(name: "ETag", value: tag) }
        var answer = StubAnswer(headers: headers, body: bytes, chunkSize: 4)
        let isSame = request.headers["If-Range"].map { $0 == tag } ?? true
        if isSame, let start = Self.start(request) {
            guard start < bytes.count else {
                headers.add(name: "Content-Range", value: "bytes */\(bytes.count)")
                return StubAnswer(statusCode: 416, headers: headers, body: Data("no".utf8))
            }
            headers.add(
                name: "Content-Range", value: "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")
            answer = StubAnswer(
                statusCode: 206, headers: headers, body: Data(bytes.dropFirst(start)),
                chunkSize: 4)
        }
        if let limit {
            answer.error = TransferErrors.lost
            answer.failureOffset = limit
        }
        return answer
    }

    private static func start(_ request: HTTPRequest) -> Int? {
        request.headers["Range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
    }
}

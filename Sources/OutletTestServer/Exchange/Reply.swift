/// The reply of an endpoint, and when to send it.
enum Answer {
    /// Sends the reply immediately.
    case now(Reply)
    /// Sends the reply after a delay, without blocking other requests.
    case after(seconds: Double, Reply)
    /// Sends the replies of `count` requests when all of these have arrived.
    case together(count: Int, Reply)
    /// Sends immediately the reply that the closure returns for the number of earlier requests with
    /// the same key.
    case counted(key: String, (Int) -> Reply)
}

/// A response as a value.
struct Reply {
    var status = 200
    /// Header fields in order; a name may be repeated.
    var headers: [(name: String, value: String)] = []
    var body: ReplyBody = .bytes([])

    /// Makes a reply with a JSON body.
    static func json(_ value: JSON, status: Int = 200) -> Reply {
        Reply(
            status: status, headers: [("Content-Type", "application/json")],
            body: .bytes(value.encoded + [UInt8(ascii: "\n")]))
    }

    /// Makes an error reply with the JSON body `{"error": message}`.
    static func error(_ status: Int, _ message: String) -> Reply {
        .json(["error": .string(message)], status: status)
    }

    /// Returns a copy with one more header field.
    func adding(_ name: String, _ value: String) -> Reply {
        var reply = self
        reply.headers.append((name, value))
        return reply
    }
}

/// What an endpoint wants sent, and when.
enum Answer {
    /// At once.
    case now(Reply)
    /// After so many seconds, without holding up others.
    case after(seconds: Double, Reply)
    /// When so many requests have come, all together.
    case together(count: Int, Reply)
    /// At once, knowing how many requests of that key came before.
    case counted(key: String, (Int) -> Reply)
}

/// A response as a value.
struct Reply {
    var status = 200
    /// Header fields in order; a name may be repeated.
    var headers: [(name: String, value: String)] = []
    var body: ReplyBody = .bytes([])

    /// A JSON body.
    static func json(_ value: JSON, status: Int = 200) -> Reply {
        Reply(
            status: status, headers: [("Content-Type", "application/json")],
            body: .bytes(value.encoded + [UInt8(ascii: "\n")]))
    }

    /// An error as JSON: `{"error": message}`.
    static func error(_ status: Int, _ message: String) -> Reply {
        .json(["error": .string(message)], status: status)
    }

    /// The same with one more header field.
    func adding(_ name: String, _ value: String) -> Reply {
        var reply = self
        reply.headers.append((name, value))
        return reply
    }
}

/// Endpoints that delay their answer.
extension Endpoint {
    /// The longest delay that a request may set, in seconds.
    static let longestWait = 86_400.0

    /// `/delay/{seconds}`: answers as `/anything` after a delay, which may be a decimal fraction.
    static func delay(_ request: Request) -> Answer {
        guard request.arguments.count == 1, let seconds = Double(request.arguments[0]),
            (0...longestWait).contains(seconds)
        else { return .now(.error(400, "delay: not a number of seconds from 0 to 86400")) }
        return .after(seconds: seconds, .json(description(of: request)))
    }

    /// `/hold/{n}`: answers with 1 KiB as soon as `n` requests with the same `n` are waiting.
    static func hold(_ request: Request) -> Answer {
        guard let count = request.number(in: 1...16_384) else {
            return .now(.error(400, "hold: not a count from 1 to 16384"))
        }
        let type = [("Content-Type", "application/octet-stream")]
        return .together(count: count, Reply(headers: type, body: .pattern(count: 1024)))
    }
}

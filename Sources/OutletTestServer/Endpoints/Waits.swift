/// Endpoints that answer later.
extension Endpoint {
    /// The longest wait that may be asked for, in seconds.
    static let longestWait = 86_400.0

    /// `/delay/{seconds}`, decimals allowed; otherwise as `/anything`.
    static func delay(_ request: Request) -> Answer {
        guard request.arguments.count == 1, let seconds = Double(request.arguments[0]),
            (0...longestWait).contains(seconds)
        else { return .now(.error(400, "delay: not a number of seconds from 0 to 86400")) }
        return .after(seconds: seconds, .json(description(of: request)))
    }

    /// `/hold/{n}`: answers 1 KiB each when so many requests have come, none before.
    static func hold(_ request: Request) -> Answer {
        guard let count = request.number(in: 1...16_384) else {
            return .now(.error(400, "hold: not a count from 1 to 16384"))
        }
        let type = [("Content-Type", "application/octet-stream")]
        return .together(count: count, Reply(headers: type, body: .pattern(count: 1024)))
    }
}

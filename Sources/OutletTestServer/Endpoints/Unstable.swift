/// An endpoint that needs more than one attempt.
extension Endpoint {
    /// `/unstable/{n}?key=KEY`: 503 to the first n requests of a key, then `/anything`, and so on.
    static func unstable(_ request: Request) -> Answer {
        guard let failures = request.number(in: 1...100) else {
            return .now(.error(400, "unstable: not a count from 1 to 100"))
        }
        let key = request.exchange.queryValue("key") ?? ""
        return .counted(key: "unstable/\(failures)?\(key)") { before in
            before % (failures + 1) == failures
                ? .json(description(of: request))
                : .error(503, "unstable: failure \(before % (failures + 1) + 1) of \(failures)")
        }
    }
}

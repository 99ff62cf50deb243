/// An endpoint that fails before it succeeds, to test retries.
extension Endpoint {
    /// `/unstable/{n}?key=KEY`: answers `n` requests of a key with 503, then one as `/anything`.
    ///
    /// Then it starts again.
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

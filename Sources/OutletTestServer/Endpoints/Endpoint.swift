/// An endpoint of the server: the methods it accepts and how it answers.
///
/// The first segment of a path selects the endpoint. Paths and answers are those of httpbin, so
/// that a request that works here also works there. Only `/hold` and `/unstable` are additions.
struct Endpoint: Sendable {
    let methods: [String]
    let answer: @Sendable (Request) -> Answer

    /// A request to an endpoint.
    struct Request {
        let exchange: Exchange
        let port: UInt16

        /// The path's segments after the first one.
        var arguments: [String] { Array(exchange.path.dropFirst()) }

        /// Returns the path's second segment as a number; `nil` if it is none in the range, or not
        /// the last segment.
        func number(in range: ClosedRange<Int>) -> Int? {
            guard arguments.count == 1, let number = Int(arguments[0]), range.contains(number)
            else { return nil }
            return number
        }
    }

    private static let table: [String: Endpoint] = [
        "get": Endpoint(methods: get, answer: echo),
        "post": Endpoint(methods: ["POST"], answer: echo),
        "put": Endpoint(methods: ["PUT"], answer: echo),
        "patch": Endpoint(methods: ["PATCH"], answer: echo),
        "delete": Endpoint(methods: ["DELETE"], answer: echo),
        "anything": Endpoint(methods: any, answer: echo),
        "headers": Endpoint(methods: get, answer: headers),
        "response-headers": Endpoint(methods: get + ["POST"], answer: responseHeaders),
        "status": Endpoint(methods: any, answer: status),
        "unstable": Endpoint(methods: any, answer: unstable),
        "redirect": Endpoint(methods: any, answer: redirect),
        "redirect-to": Endpoint(methods: any, answer: redirectTo),
        "etag": Endpoint(methods: get, answer: entityTag),
        "cookies": Endpoint(methods: get, answer: cookies),
        "basic-auth": Endpoint(methods: get, answer: basicAuthentication),
        "bearer": Endpoint(methods: get, answer: bearer),
        "bytes": Endpoint(methods: get, answer: bytes),
        "stream": Endpoint(methods: get, answer: stream),
        "gzip": Endpoint(methods: get, answer: gzip),
        "delay": Endpoint(methods: any, answer: delay),
        "drip": Endpoint(methods: get, answer: drip),
        "hold": Endpoint(methods: any, answer: hold),
    ]

    private static let get = ["GET", "HEAD"]
    private static let any = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    /// Returns the answer to any request: the endpoint's, or else 404, 405 or that of `OPTIONS`.
    static func answer(to exchange: Exchange, port: UInt16) -> Answer {
        guard let name = exchange.path.first, let endpoint = table[name] else {
            let path = "/" + exchange.path.joined(separator: "/")
            return .now(.error(404, "path: nothing is served there: \(path)"))
        }
        let allowed = (endpoint.methods + ["OPTIONS"]).joined(separator: ", ")
        if exchange.method == "OPTIONS" {
            return .now(Reply().adding("Allow", allowed))
        }
        guard endpoint.methods.contains(exchange.method) else {
            let reply = Reply.error(405, "method: not allowed here: \(exchange.method)")
            return .now(reply.adding("Allow", allowed))
        }
        return endpoint.answer(Request(exchange: exchange, port: port))
    }
}

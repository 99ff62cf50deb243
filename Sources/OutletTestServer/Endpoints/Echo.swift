internal import FoundationEssentials

/// Endpoints that return what the request contained.
extension Endpoint {
    static func echo(_ request: Request) -> Answer {
        .now(.json(description(of: request)))
    }

    static func headers(_ request: Request) -> Answer {
        .now(.json(["headers": JSON(headers: request.exchange.headers)]))
    }

    /// `/response-headers?NAME=VALUE`: adds the query's fields to the response's header fields.
    static func responseHeaders(_ request: Request) -> Answer {
        let fields = request.exchange.query
        var reply = Reply.json(JSON(fields: fields))
        if fields.contains(where: { $0.name.lowercased() == "content-type" }) {
            reply.headers = []
        }
        reply.headers += fields
        return .now(reply)
    }

    static func cookies(_ request: Request) -> Answer {
        let query = request.exchange.query
        switch request.arguments {
        case []:
            return .now(.json(["cookies": JSON(fields: cookies(in: request.exchange))]))
        case ["set"]:
            return .now(setting(query.map { "\($0.name)=\($0.value); Path=/" }))
        case ["delete"]:
            return .now(setting(query.map { "\($0.name)=; Max-Age=0; Path=/" }))
        default:
            return .now(.error(404, "cookies: no such action: try /cookies/set?name=value"))
        }
    }

    private static func setting(_ cookies: [String]) -> Reply {
        Reply(
            status: 302,
            headers: [("Location", "/cookies")] + cookies.map { ("Set-Cookie", $0) })
    }

    private static func cookies(in exchange: Exchange) -> [(name: String, value: String)] {
        let pairs = (exchange.header("Cookie") ?? "").split(separator: ";")
        return pairs.map { pair in
            let text = pair.drop { $0 == " " }
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count < 2 ? "" : String(parts[1]))
        }
    }

    /// Describes a request: method, URL, query, headers and, except for GET and HEAD, the body.
    ///
    /// `/anything` describes the body for every method.
    static func description(of request: Request) -> JSON {
        let exchange = request.exchange
        var members: [(String, JSON)] = [
            ("args", JSON(fields: exchange.query)),
            ("headers", JSON(headers: exchange.headers)),
            ("method", .string(exchange.method)),
            ("origin", .string("127.0.0.1")),
            ("url", .string(url(of: request))),
        ]
        let takesNoBody = ["GET", "HEAD"].contains(exchange.method)
        if !takesNoBody || exchange.path.first == "anything" {
            exchange.readForm()
            let form = exchange.form
            members += [
                ("data", .string(form.isEmpty ? text(exchange.body) : "")),
                ("files", JSON(fields: form.files)),
                ("form", JSON(fields: form.fields)),
                ("json", form.isEmpty ? JSON(text: exchange.body) ?? .null : .null),
            ]
        }
        return .object(members)
    }

    private static func url(of request: Request) -> String {
        let host = request.exchange.header("Host") ?? "127.0.0.1:\(request.port)"
        return "http://\(host)\(request.exchange.target)"
    }

    /// Returns the body as text, or as a `data:` URL if it is not valid UTF-8.
    private static func text(_ body: [UInt8]) -> String {
        String(validating: body, as: UTF8.self)
            ?? "data:application/octet-stream;base64," + Data(body).base64EncodedString()
    }
}

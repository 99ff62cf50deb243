/// Endpoints about status codes: redirects, conditional requests.
extension Endpoint {
    /// `/status/{code}`: an empty body with that status; the first one of a comma-separated list.
    static func status(_ request: Request) -> Answer {
        let list = request.arguments.first?.split(separator: ",") ?? []
        guard request.arguments.count == 1, let code = list.first.flatMap({ Int($0) }),
            (200...599).contains(code)
        else { return .now(.error(400, "status: not a code from 200 to 599")) }
        let reply = Reply(status: code)
        switch code {
        case 301, 302, 303, 305, 307, 308: return .now(reply.adding("Location", "/redirect/1"))
        case 401: return .now(reply.adding("WWW-Authenticate", "Basic realm=\"Outlet\""))
        case 407: return .now(reply.adding("Proxy-Authenticate", "Basic realm=\"Outlet\""))
        default: return .now(reply)
        }
    }

    /// `/redirect/{n}`: redirects `n` times, finally to `/get`.
    static func redirect(_ request: Request) -> Answer {
        guard let count = request.number(in: 1...10_000) else {
            return .now(.error(400, "redirect: not a count from 1 to 10000"))
        }
        let location = count == 1 ? "/get" : "/redirect/\(count - 1)"
        return .now(Reply(status: 302, headers: [("Location", location)]))
    }

    /// `/redirect-to?url=URL&status_code=CODE`: redirects to a URL, with 302 by default.
    static func redirectTo(_ request: Request) -> Answer {
        guard let url = request.exchange.queryValue("url") else {
            return .now(.error(400, "redirect-to: no target: add ?url="))
        }
        let code = request.exchange.queryValue("status_code").flatMap { Int($0) } ?? 302
        guard (300...399).contains(code) else {
            return .now(.error(400, "redirect-to: not a redirect: \(code)"))
        }
        return .now(Reply(status: code, headers: [("Location", url)]))
    }

    /// `/etag/{tag}`: evaluates `If-None-Match` and `If-Match` (RFC 9110 §13.1).
    static func entityTag(_ request: Request) -> Answer {
        guard request.arguments.count == 1 else {
            return .now(.error(400, "etag: no tag: try /etag/one"))
        }
        let tag = "\"\(request.arguments[0])\""
        func matches(_ name: String) -> Bool? {
            request.exchange.header(name).map { value in
                let tags = value.split(separator: ",").map { $0.filter { $0 != " " } }
                return tags.contains("*") || tags.contains(tag)
                    || tags.contains("W/\(tag)") || tags.contains(request.arguments[0])
            }
        }
        if matches("If-None-Match") == true {
            return .now(Reply(status: 304, headers: [("ETag", tag)]))
        }
        if matches("If-Match") == false {
            return .now(.error(412, "etag: If-Match does not name \(tag)").adding("ETag", tag))
        }
        return .now(.json(description(of: request)).adding("ETag", tag))
    }
}

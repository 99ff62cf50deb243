internal import FoundationEssentials

/// Endpoints that require authentication.
extension Endpoint {
    /// `/basic-auth/{user}/{password}` (RFC 7617).
    static func basicAuthentication(_ request: Request) -> Answer {
        guard request.arguments.count == 2 else {
            return .now(.error(400, "basic-auth: try /basic-auth/user/password"))
        }
        let (user, password) = (request.arguments[0], request.arguments[1])
        let expected = Data("\(user):\(password)".utf8).base64EncodedString()
        guard credentials("Basic", of: request) == expected else {
            return .now(denied("Basic realm=\"Outlet\""))
        }
        return .now(.json(["authenticated": .bool(true), "user": .string(user)]))
    }

    /// `/bearer`: accepts any token (RFC 6750 §2.1).
    static func bearer(_ request: Request) -> Answer {
        guard let token = credentials("Bearer", of: request), !token.isEmpty else {
            return .now(denied("Bearer"))
        }
        return .now(.json(["authenticated": .bool(true), "token": .string(token)]))
    }

    /// Returns the text after the scheme in `Authorization`; `nil` if the scheme is another one.
    ///
    /// The case of the scheme is ignored.
    private static func credentials(_ scheme: String, of request: Request) -> String? {
        guard let value = request.exchange.header("Authorization") else { return nil }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == scheme.lowercased() else { return nil }
        return String(parts[1])
    }

    private static func denied(_ challenge: String) -> Reply {
        let reply = Reply.json(["authenticated": .bool(false)], status: 401)
        return reply.adding("WWW-Authenticate", challenge)
    }
}

import FoundationEssentials
import OutletHTTP
import OutletTLS
import OutletTransport

/// The client's part of the opening handshake (RFC 6455 §4.1).
struct WebSocketHandshake {
    /// The request's head as sent.
    let head: [UInt8]
    private let key: String
    private let offered: [String]
    private let host: String

    /// The fields that the handshake sets itself; those of the request are ignored.
    private static let ownFields: Set<String> = [
        "sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions", "content-length",
        "expect",
    ]

    /// Makes the head of the request.
    ///
    /// - Parameters:
    ///   - request: A `GET` without a body.
    ///   - target: The path and the query of the URL.
    ///   - host: The value of `Host`, unless the request has one.
    ///   - credential: The credential for `Authorization`, unless the request has one.
    ///   - challenge: The Digest challenge to respond to; `nil` if there was none.
    ///   - key: Sixteen random bytes in Base64.
    /// - Throws: `TransferError` with code `badRequest` if the request cannot be sent as a
    ///   handshake.
    init(
        _ request: HTTPRequest, target: String, host: String, credential: Credential?,
        challenge: AuthenticationChallenge? = nil, key: String = randomKey()
    ) throws(TransferError) {
        guard !request.mayHaveBody else {
            throw TransferError(
                code: .badRequest, host: host,
                reason: "a WebSocket handshake is a GET without a body, not \(request.method)")
        }
        do throws(HTTPRequestError) {
            try request.checkSyntax()
        } catch {
            throw TransferError(code: .badRequest, host: host, reason: error.description)
        }
        var lines = ["GET \(target) HTTP/1.1"]
        if request.headers["Host"] == nil { lines.append("Host: \(host)") }
        lines += [
            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: \(key)",
            "Sec-WebSocket-Version: 13",
        ]
        var fields = request.headers.filter {
            !Self.ownFields.contains($0.name.lowercasedASCII)
        }
        if let credential, request.headers["Authorization"] == nil,
            let field = Self.authorization(credential, challenge, target: target)
        {
            fields.insert(field, at: 0)
        }
        var head = Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
        for field in fields {
            head += Array("\(field.name): ".utf8) + field.valueBytes + [0x0D, 0x0A]
        }
        self.head = head + [0x0D, 0x0A]
        offered = request.headers.values(for: "Sec-WebSocket-Protocol").flatMap(Self.tokens)
        self.key = key
        self.host = host
    }

    private static func authorization(
        _ credential: Credential, _ challenge: AuthenticationChallenge?, target: String
    ) -> HTTPHeader? {
        switch credential.scheme {
        case nil, .basic:
            .authorization(username: credential.user, password: credential.password)
        case .bearer:
            isToken68(credential.password)
                ? .authorization(bearerToken: credential.password) : nil
        case .digest:
            challenge.flatMap {
                DigestAnswer(to: $0, credential: credential, method: "GET", target: target)?.field
            }
        case .negotiate, .ntlm: nil
        }
    }

    /// Whether a token is visible ASCII, so that it cannot end the line (RFC 9110 §11.2).
    private static func isToken68(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// Checks that a `101 Switching Protocols` is the response to this handshake.
    ///
    /// - Throws: `TransferError` with code `badServerResponse`.
    func check(_ response: HTTPResponse) throws(TransferError) {
        let headers = response.headers
        guard headers.value(for: "Upgrade")?.equalsIgnoringCase("websocket") == true else {
            throw wrong("Upgrade", "is not websocket", headers)
        }
        guard
            headers.values(for: "Connection").flatMap(Self.tokens)
                .contains(where: { $0.equalsIgnoringCase("upgrade") })
        else { throw wrong("Connection", "is not Upgrade", headers) }
        let accept = headers.value(for: "Sec-WebSocket-Accept") ?? ""
        guard accept.hasSameBytes(as: Self.accept(key)) else {
            throw wrong("Sec-WebSocket-Accept", "is not the answer to this key", headers)
        }
        guard headers.values(for: "Sec-WebSocket-Extensions").flatMap(Self.tokens).isEmpty else {
            throw wrong("Sec-WebSocket-Extensions", "names what was not asked for", headers)
        }
        let chosen = headers.values(for: "Sec-WebSocket-Protocol").flatMap { $0.listItems() }
        guard chosen.count <= 1,
            chosen.allSatisfy({ name in offered.contains { $0.hasSameBytes(as: name) } })
        else {
            throw wrong("Sec-WebSocket-Protocol", "names what was not asked for", headers)
        }
    }

    private func wrong(_ name: String, _ what: String, _ headers: HTTPHeaders) -> TransferError {
        let shown = headers.value(for: name).map { value in
            var value = value
            return value.withUTF8 { HeadFault.shown(UnsafeRawBufferPointer($0)) }
        }
        let fact = shown.map { ": '\($0)'" } ?? ": it is missing"
        return TransferError(
            code: .badServerResponse, stage: .receiving, host: host,
            reason: "the response to the WebSocket handshake: \(name) \(what)\(fact)")
    }

    /// The value of `Sec-WebSocket-Accept` for a key (RFC 6455 §4.2.2).
    static func accept(_ key: String) -> String {
        MessageDigest.sha1.hash(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").base64EncodedString()
    }

    private static func randomKey() -> String {
        Data((0..<16).map { _ in UInt8.random(in: 0 ... .max) }).base64EncodedString()
    }

    /// The elements of a comma-separated field value (RFC 9110 §5.6.1).
    private static func tokens(_ value: String) -> [String] {
        value.listItems().map { String($0.prefix(whileByte: { !$0.isBlank })) }
    }
}

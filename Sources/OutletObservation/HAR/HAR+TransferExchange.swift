package import FoundationEssentials
public import OutletHTTP
import OutletTransport
public import OutletSession

extension HAR.Entry {
    /// Makes an entry from a transfer that has ended.
    ///
    /// - Parameters:
    ///   - exchange: The transfer.
    ///   - redaction: Selects the secrets, which are replaced by a mark.
    ///   - bodyLimit: The largest body that is recorded, in bytes; 0 records none. For a larger
    ///     body only the length is recorded.
    public init(_ exchange: TransferExchange, redaction: Redaction = .standard, bodyLimit: Int) {
        let metrics = exchange.metrics
        let timings = HAR.Timings(metrics)
        self.init(
            startedDateTime: exchange.start.formatted(
                Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            time: Double(metrics.queued + metrics.total) / 1000,
            request: HAR.Request(exchange, redaction, bodyLimit),
            response: HAR.Response(exchange, redaction, bodyLimit),
            timings: timings)
        let (address, _) = Self.split(metrics.remoteAddress)
        serverIPAddress = address
        connection = Self.split(metrics.localAddress).port
        requestID = exchange.requestID?.uuidString
        attempt = exchange.attempt
        error = exchange.error.map { error in
            HAR.Failure(
                code: error.code.rawValue, stage: error.stage.rawValue,
                reason: redaction.text(error.reason))
        }
    }

    /// Splits an address and its port, such as `[::1]:80` or `127.0.0.1:80`.
    private static func split(_ text: String) -> (address: String?, port: String?) {
        guard let (host, port) = text.cutAtLast(":") else {
            return (text.isEmpty ? nil : text, nil)
        }
        let isBracketed = host.startsWithBytes(of: "[") && host.endsWithBytes(of: "]")
        return (String(isBracketed ? host.dropFirst().dropLast() : host), String(port))
    }
}

extension HAR.Timings {
    /// Converts the timestamps of a transfer to the durations of its stages.
    init(_ metrics: TransferMetrics) {
        func milliseconds(_ microseconds: Int64) -> Double { Double(microseconds) / 1000 }
        let connected = max(metrics.connect, metrics.secureConnect, metrics.nameLookup)
        let isNew = metrics.connect > 0 && !metrics.isReusedConnection
        let begun = isNew ? connected : 0
        let sent = max(metrics.preTransfer, begun)
        let answered = max(metrics.firstByte, sent)
        self.init(
            blocked: milliseconds(metrics.queued),
            dns: isNew ? milliseconds(metrics.nameLookup) : -1,
            connect: isNew ? milliseconds(connected - metrics.nameLookup) : -1,
            send: milliseconds(sent - begun),
            wait: milliseconds(answered - sent),
            receive: milliseconds(max(0, metrics.total - answered)),
            ssl: isNew && metrics.secureConnect > 0
                ? milliseconds(metrics.secureConnect - metrics.connect) : -1)
    }
}

extension HAR.Request {
    fileprivate init(_ exchange: TransferExchange, _ redaction: Redaction, _ bodyLimit: Int) {
        let request = exchange.request
        let url = HAR.address(request.url, redaction)
        self.init(
            method: request.method.rawValue, url: url, httpVersion: exchange.metrics.httpVersion,
            headers: HAR.pairs(redaction.headers(request.headers)),
            queryString: HAR.query(of: url),
            cookies: HAR.cookies(redaction.headers(request.headers).values(for: "Cookie")))
        headersSize = exchange.metrics.requestHeaderBytes
        bodySize = exchange.metrics.requestBodyBytes
        guard !request.body.isNone else {
            bodyKey = HAR.bodyKey(of: Data(), [:], redaction)
            return
        }
        let type = request.headers["Content-Type"]
        guard let body = exchange.requestBody else {
            postData = HAR.PostData(mimeType: type ?? "", text: "")
            postData?.comment = "the body was read from a file or a stream"
            return
        }
        var length = Int64(body.count)
        if case .stream(let stream) = request.body { length = max(length, stream.length ?? 0) }
        bodySize = max(bodySize, length)
        // Of a larger body that is read while it is sent, only the beginning is known.
        if !request.readsBody || body.count <= bodyLimit {
            bodyKey = HAR.bodyKey(of: body, request.headers, redaction)
        }
        guard redaction.requestBody(Data(), of: request.headers) != nil else {
            postData = HAR.PostData(mimeType: type ?? "", text: "")
            postData?.comment = "the body has a content coding, and may hold secrets"
            return
        }
        let (text, encoding, comment) = HAR.text(
            of: body, transferred: bodySize, type, redaction, bodyLimit)
        postData = HAR.PostData(mimeType: type ?? "", text: text ?? "", encoding: encoding)
        postData?.comment = comment
    }
}

extension HAR.Response {
    fileprivate init(_ exchange: TransferExchange, _ redaction: Redaction, _ bodyLimit: Int) {
        guard let head = exchange.response else {
            self.init(
                status: 0, httpVersion: "", headers: [],
                content: HAR.Content(size: 0, mimeType: ""))
            headersSize = exchange.metrics.responseHeaderBytes
            return
        }
        let type = head.headers["Content-Type"]
        let received = exchange.metrics.responseBodyBytes
        var content = HAR.Content(
            size: exchange.body.map { Int64($0.count) } ?? received, mimeType: type ?? "")
        if let body = exchange.body {
            (content.text, content.encoding, content.comment) = HAR.text(
                of: body, transferred: received, type, redaction, bodyLimit)
        } else if received > 0 {
            content.comment = "the body went to a file or was handed over piece by piece"
        }
        let headers = redaction.headers(head.headers)
        self.init(
            status: head.statusCode,
            statusText: head.reasonPhrase.map { redaction.text($0) } ?? "",
            httpVersion: head.httpVersion, headers: HAR.pairs(headers),
            content: content, redirectURL: headers["Location"] ?? "",
            cookies: HAR.cookies(headers.values(for: "Set-Cookie")))
        headersSize = exchange.metrics.responseHeaderBytes
        bodySize = received
        trailers = exchange.trailers.map { HAR.pairs(redaction.headers($0)) }
        if !exchange.interimHeads.isEmpty {
            interimHeads = exchange.interimHeads.map {
                HAR.InterimHead(
                    status: $0.statusCode, headers: HAR.pairs(redaction.headers($0.headers)))
            }
        }
    }
}

extension HAR {
    static func pairs(_ headers: HTTPHeaders) -> [Pair] {
        headers.map { Pair(name: $0.name, value: $0.value) }
    }

    /// Returns a URL without its fragment, secrets redacted.
    package static func address(_ url: URL?, _ redaction: Redaction) -> String {
        String((url.map { redaction.url($0) } ?? "").prefix(whileByte: { $0 != UInt8(ascii: "#") }))
    }

    static func query(of address: String) -> [Pair] {
        let items = address.cut(at: "?")?.tail.parts(separatedBy: "&") ?? []
        return items.filter { !$0.isEmpty }.map { item in
            let (name, value) = item.cut(at: "=") ?? (item, "")
            return Pair(name: String(name), value: String(value))
        }
    }

    /// Returns the cookies in values of `Cookie` or `Set-Cookie`, without their attributes.
    static func cookies(_ values: [String]) -> [Pair] {
        values.flatMap { value in
            value.parts(separatedBy: ";").compactMap { item -> Pair? in
                guard let (name, value) = item.trimmingBlanks.cut(at: "=") else { return nil }
                let isAttribute = [
                    "path", "domain", "expires", "max-age", "samesite", "priority",
                ].contains { name.equalsIgnoringCase($0) }
                return isAttribute ? nil : Pair(name: String(name), value: String(value))
            }
        }
    }

    /// Returns a body as text or in base64, or a comment that explains why it is not recorded.
    ///
    /// - Parameters:
    ///   - body: The body, or the first `limit + 1` bytes of a larger one.
    ///   - transferred: How many bytes of it were transferred, with content codings.
    ///   - contentType: The value of `Content-Type`.
    ///   - redaction: Selects the secrets, which are replaced by a mark.
    ///   - limit: The largest body that is recorded, in bytes.
    static func text(
        of body: Data, transferred: Int64, _ contentType: String?, _ redaction: Redaction,
        _ limit: Int
    ) -> (text: String?, encoding: String?, comment: String?) {
        guard body.count <= limit else {
            let known = Int64(body.count)
            let length = known == Int64(limit) + 1 ? max(known, transferred) : known
            return (nil, nil, "the body of \(length) bytes is larger than the limit of \(limit)")
        }
        let shown = redaction.bodyBytes(body, contentType: contentType)
        if !shown.contains(0), let text = String(validating: shown, as: UTF8.self) {
            return (text, nil, nil)
        }
        return (Data(shown).base64EncodedString(), "base64", nil)
    }
}

import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// One step of an answer that is played.
enum StubStep {
    /// A complete head arrives.
    case head(HTTPResponse)
    /// A number of bytes of an incomplete head arrive.
    case partOfHead(Int)
    case chunk(Data)
    case wait(StubAnswer.Pause.End)
    /// Nothing more arrives until a cancel.
    case stall
    case end(TransferError?, trailers: HTTPHeaders?)

    /// The size of a head in HTTP/1.1 (RFC 9112 §2), in bytes.
    static func headSize(_ head: HTTPResponse) -> Int {
        let statusLine = "\(head.httpVersion) \(head.statusCode) \r\n\r\n".utf8.count
        return head.headers.reduce(statusLine) { size, header in
            size + header.name.utf8.count + header.value.utf8.count + ": \r\n".utf8.count
        }
    }
}

extension StubAnswer {
    /// The steps of the answer, in order.
    func steps(for request: HTTPRequest) -> [StubStep] {
        guard let code = statusCode else {
            return stallsAtFailure ? [.stall] : [.end(error, trailers: nil)]
        }
        guard code >= 200 else {
            let fault = Self.fault(
                "the stub's status is \(code), which is not that of a final response", request)
            return [.end(error ?? fault, trailers: nil)]
        }
        if let faultOfHeads = faultOfHeads(for: request) {
            return [.end(faultOfHeads, trailers: nil)]
        }
        var steps = interimHeads.map { interim in
            StubStep.head(
                HTTPResponse(
                    url: request.url, statusCode: interim.statusCode, httpVersion: httpVersion,
                    headers: interim.headers))
        }
        let head = finalHead(code, url: request.url)
        if failurePart == .head, error != nil || stallsAtFailure,
            failureOffset < StubStep.headSize(head)
        {
            steps.append(.partOfHead(max(0, failureOffset)))
            steps.append(stallsAtFailure ? .stall : .end(error, trailers: nil))
            return steps
        }
        steps.append(.head(head))
        var sent = self
        if !Self.hasContent(code, request) { sent.body = Data() }
        steps += sent.bodySteps
        steps.append(stallsAtFailure ? .stall : .end(error, trailers: trailers))
        return steps
    }

    /// The error of a field that a head or trailers cannot have; `nil` if there is none.
    func faultOfHeads(for request: HTTPRequest) -> TransferError? {
        for fields in interimHeads.map(\.headers) + [headers, trailers ?? []] {
            for field in fields {
                guard isToken(field.name) else {
                    return Self.fault(
                        "the stub has a header field whose name is no token: "
                            + TerminalText.visibleLine(field.name.shortened(toBytes: 80)), request)
                }
                // Peers may send other control characters.
                let endsLine = { (byte: UInt8) in byte == 0x0D || byte == 0x0A || byte == 0x00 }
                guard isFieldValue(field.value) || !field.value.utf8.contains(where: endsLine)
                else {
                    return Self.fault(
                        "the stub's header field \(field.name) has CR, LF or NUL in its value",
                        request)
                }
            }
        }
        return nil
    }

    private static func fault(_ reason: String, _ request: HTTPRequest) -> TransferError {
        TransferError(
            code: .badServerResponse, stage: .receiving, host: request.url?.host(), reason: reason)
    }

    /// Whether a response has content (RFC 9110 §6.4.1).
    private static func hasContent(_ code: Int, _ request: HTTPRequest) -> Bool {
        request.method != .head && ![204, 205, 304].contains(code)
    }

    private func finalHead(_ code: Int, url: URL?) -> HTTPResponse {
        var headers = headers
        // Not with 204 and 205 (RFC 9110 §8.6, §15.3.6); the other two tell what a GET would get.
        if !body.isEmpty, ![204, 205].contains(code), headers["Content-Length"] == nil,
            headers["Transfer-Encoding"] == nil
        {
            headers.update(name: "Content-Length", value: "\(body.count)")
        }
        return HTTPResponse(
            url: url, statusCode: code, httpVersion: httpVersion, headers: headers)
    }

    private var bodySteps: [StubStep] {
        let limit = bodyLimit
        var pauses = pauses.sorted { $0.offset < $1.offset }[...]
        var sizes = chunkSizes[...]
        var steps: [StubStep] = []
        var position = 0
        // The rest of a chunk that a pause divides.
        var rest = 0
        while true {
            while let pause = pauses.first, pause.offset <= position {
                steps.append(.wait(pause.end))
                pauses.removeFirst()
            }
            guard position < limit else { break }
            if rest == 0 { rest = max(1, sizes.popFirst() ?? chunkSize) }
            var size = min(rest, limit - position)
            if let pause = pauses.first { size = min(size, pause.offset - position) }
            let start = body.startIndex + position
            steps.append(.chunk(Data(body[start..<start + size])))
            position += size
            rest -= size
        }
        // Pauses beyond a complete body come before the end of the transfer.
        return limit == body.count ? steps + pauses.map { .wait($0.end) } : steps
    }

    /// How many bytes of the body are delivered.
    private var bodyLimit: Int {
        guard error != nil || stallsAtFailure else { return body.count }
        return failurePart == .head ? 0 : max(0, min(failureOffset, body.count))
    }
}

import FoundationEssentials
import Outlet
import OutletTransport

/// The JSON object of `--json`, schema `outlet.exchange/1`.
///
/// Later versions of this schema only add members. Times are integers in microseconds (`…_us`),
/// sizes are in bytes (`…_bytes`). Missing values are `null`.
struct ExchangeReport {
    let showsSecrets: Bool

    /// Writes the report and a line break.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - exitCode: The exit code of the program.
    ///   - body: The response's body; `nil` if there is none or it was saved to a file.
    ///   - layout: Formats the JSON.
    ///   - output: Called with each piece of the report.
    /// - Throws: ``OutputError`` if the report or the stored body fails, and any error of `output`.
    func write(
        _ exchange: Exchange, exitCode: ExitCode, body: BodySpool?, layout: JSONReformatter,
        to output: @escaping (Data) throws(OutputError) -> Void
    ) throws(OutputError) {
        var writer = ReportWriter(layout: layout, output: output)
        let opening = JSONValue.object(opening(exchange))
        try writer.write("\(opening.text().dropLast()),\"response\":")
        let hasBody = exchange.savedPath != nil || (body?.count ?? 0) > 0
        if let head = response(exchange, hasBody: hasBody) {
            try writer.write("\(head.text().dropLast()),\"body\":")
            try write(body, savedPath: exchange.savedPath, to: &writer)
            try writer.write("}")
        } else {
            try writer.write("null")
        }
        let closing = JSONValue.object(closing(exchange, exitCode))
        try writer.write(",\(closing.text().dropFirst())")
        try writer.finish()
    }

    /// Returns the report of an exchange that has not ended, without the body.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - exitCode: The exit code of the program.
    func value(of exchange: Exchange, exitCode: ExitCode) -> JSONValue {
        var report = opening(exchange)
        var response = response(exchange, hasBody: false)?.objectValue
        response?["body"] = .null
        report["response"] = response.map(JSONValue.object) ?? .null
        for member in closing(exchange, exitCode) { report[member.name] = member.value }
        return .object(report)
    }

    private func opening(_ exchange: Exchange) -> JSONObject {
        ["schema": "outlet.exchange/1", "request": request(exchange.request)]
    }

    /// Returns the members after the response.
    private func closing(_ exchange: Exchange, _ exitCode: ExitCode) -> JSONObject {
        [
            "metrics": metrics(exchange),
            "plugins": .array(exchange.actions.map(ExchangeReport.action)),
            "plugin_failures": PluginReport.list(of: exchange.unusablePlugins),
            "plugin_status": .array(exchange.pluginStatus.map(PluginReport.status)),
            "violations": PluginReport.list(of: exchange.violations),
            "error": (exchange.lateSignal ?? exchange.failure).map(ExchangeReport.failure) ?? nil,
            "exit_code": .int(Int64(exitCode.rawValue)),
        ]
    }

    /// Returns the request, with the fields as they were sent if its ``SentHeadRecorder`` has them.
    private func request(_ request: HTTPRequest) -> JSONValue {
        let sent = request.context[SentHeadRecorder.Key.self]?.head(sentTo: request.url)
        let address = request.url?.absoluteString ?? ""
        let size: JSONValue =
            switch request.body {
            case .none: 0
            case .data(let data): .int(Int64(data.count))
            case .file: nil
            case .stream(let stream): stream.length.map { .int($0) } ?? nil
            }
        return [
            "method": .string(request.method.rawValue),
            "url": .string(showsSecrets ? address : Redaction.standard.address(address)),
            "headers": headers(sent?.headers ?? request.headers),
            "body_bytes": size,
        ]
    }

    /// Returns the response without its last member, `body`, which is written piece by piece.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - hasBody: Whether there is a body; that of a file has no head.
    private func response(_ exchange: Exchange, hasBody: Bool) -> JSONValue? {
        let response = exchange.response
        guard response != nil || hasBody else { return nil }
        let url = response?.url ?? exchange.request.url
        let address = url?.absoluteString ?? ""
        return [
            "status": response.map { .int(Int64($0.statusCode)) } ?? nil,
            "http_version": response.map { .string($0.httpVersion) } ?? nil,
            "url": .string(showsSecrets ? address : Redaction.standard.address(address)),
            "headers": headers(response?.headers ?? HTTPHeaders()),
            "trailers": headers(exchange.trailers),
        ]
    }

    /// Writes an object with one member, whose name is the kind of the body: `json`, `text`,
    /// `base64` or `file`.
    private func write(
        _ body: BodySpool?, savedPath: String?, to writer: inout ReportWriter
    ) throws(OutputError) {
        if let savedPath {
            return try writer.write(JSONValue.object(["file": .string(savedPath)]).text())
        }
        guard let body, body.count > 0 else { return try writer.write("null") }
        switch body.kind {
        case .json:
            try writer.write("{\"json\":")
            var isFirst = true
            try body.forEachPiece { piece throws(OutputError) in
                let isMarked = isFirst && piece.starts(with: [0xEF, 0xBB, 0xBF])
                isFirst = false
                try writer.write(isMarked ? Array(piece.dropFirst(3)) : piece)
            }
            try writer.write("}")
        case .text:
            try writer.write("{\"text\":\"")
            try body.forEachPiece { piece throws(OutputError) in
                try writer.write(JSONValue.escaped(piece))
            }
            try writer.write("\"}")
        case .binary:
            try writer.write("{\"base64\":\"")
            try body.forEachPiece { piece throws(OutputError) in
                try writer.write(Data(piece).base64EncodedString())
            }
            try writer.write("\"}")
        }
    }

    private func headers(_ headers: HTTPHeaders) -> JSONValue {
        .array(
            headers.map { header in
                let value = showsSecrets ? header.value : Redaction.standard.value(of: header)
                return ["name": .string(header.name), "value": .string(value)]
            })
    }

    private func metrics(_ exchange: Exchange) -> JSONValue {
        guard let metrics = exchange.metrics else { return nil }
        return [
            "queued_us": .int(metrics.queued),
            "name_lookup_us": .int(metrics.nameLookup),
            "connect_us": .int(metrics.connect),
            "secure_connect_us": .int(metrics.secureConnect),
            "pre_transfer_us": .int(metrics.preTransfer),
            "first_byte_us": .int(metrics.firstByte),
            "total_us": .int(metrics.total),
            "request_header_bytes": .int(metrics.requestHeaderBytes),
            "request_body_bytes": .int(metrics.requestBodyBytes),
            "response_header_bytes": .int(metrics.responseHeaderBytes),
            "response_body_bytes": .int(metrics.responseBodyBytes),
            "redirects": .int(Int64(metrics.redirectCount)),
            "redirect_us": .int(metrics.redirectDuration),
            "attempts": .int(Int64(exchange.attempts)),
            "reused_connection": .bool(metrics.isReusedConnection),
            "http_version": ExchangeReport.text(metrics.httpVersion),
            "remote_address": ExchangeReport.text(metrics.remoteAddress),
            "local_address": ExchangeReport.text(metrics.localAddress),
            "tls": ExchangeReport.text(metrics.tls),
            "certificate_authority": ExchangeReport.text(exchange.certificateAuthority),
            "proxy": ExchangeReport.text(Redaction.standard.address(metrics.proxy)),
        ]
    }

    private static func text(_ text: String) -> JSONValue { text.isEmpty ? nil : .string(text) }

    private static func action(_ action: PluginAction) -> JSONValue {
        [
            "plugin": .string(action.plugin), "hook": .string(action.hook),
            "effects": .array(action.effects.map { .string(singleLine($0)) }),
            "failure": action.failure.map { .string(singleLine($0)) } ?? nil,
            "duration_us": .int(action.microseconds),
        ]
    }

    private static func failure(_ failure: Exchange.Failure) -> JSONValue {
        [
            "code": .string(failure.code), "stage": text(failure.stage),
            "message": .string(singleLine(failure.error.message)),
            "advice": text(failure.error.advice), "plugin_code": text(failure.error.pluginCode),
        ]
    }
}

/// Formats a report while it is written.
private struct ReportWriter {
    private static let flushSize = 64 << 10

    private var layout: JSONReformatter
    private let output: (Data) throws(OutputError) -> Void
    private var text: [UInt8] = []

    init(layout: JSONReformatter, output: @escaping (Data) throws(OutputError) -> Void) {
        self.layout = layout
        self.output = output
    }

    mutating func write(_ json: String) throws(OutputError) { try write(Array(json.utf8)) }

    mutating func write(_ json: [UInt8]) throws(OutputError) {
        do {
            try layout.append(json, to: &text)
        } catch {
            throw .failed(name: "the report", reason: "\(error)")
        }
        if text.count >= Self.flushSize { try flush() }
    }

    mutating func finish() throws(OutputError) {
        do {
            try layout.finish()
        } catch {
            throw .failed(name: "the report", reason: "\(error)")
        }
        text.append(0x0A)
        try flush()
    }

    private mutating func flush() throws(OutputError) {
        try output(Data(text))
        text.removeAll(keepingCapacity: true)
    }
}

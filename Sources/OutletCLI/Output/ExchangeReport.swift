import FoundationEssentials
import Outlet

/// The one JSON object of `--json`, schema `outlet.exchange/1`.
///
/// Members are only ever added under this name; times are whole microseconds (`…_us`), sizes
/// bytes (`…_bytes`); what did not happen is `null`.
struct ExchangeReport {
    let showsSecrets: Bool

    func value(_ exchange: Exchange, exitCode: ExitCode) -> JSONValue {
        [
            "schema": "outlet.exchange/1",
            "request": request(exchange.request),
            "response": response(exchange),
            "metrics": metrics(exchange),
            "plugins": .array(exchange.actions.map(ExchangeReport.action)),
            "error": exchange.failure.map(ExchangeReport.failure) ?? nil,
            "exit_code": .int(Int64(exitCode.rawValue)),
        ]
    }

    private func request(_ request: HTTPRequest) -> JSONValue {
        let address = request.url?.absoluteString ?? ""
        let size: JSONValue =
            switch request.body {
            case .none: 0
            case .data(let data): .int(Int64(data.count))
            case .file, .stream: nil
            }
        return [
            "method": .string(request.method.rawValue),
            "url": .string(showsSecrets ? address : Redaction.url(address)),
            "headers": headers(request.headers),
            "body_bytes": size,
        ]
    }

    private func response(_ exchange: Exchange) -> JSONValue {
        guard let response = exchange.response else { return nil }
        let address = response.url?.absoluteString ?? exchange.request.url?.absoluteString ?? ""
        return [
            "status": .int(Int64(response.statusCode)),
            "http_version": .string(response.httpVersion),
            "url": .string(showsSecrets ? address : Redaction.url(address)),
            "headers": headers(response.headers),
            "body": body(exchange),
        ]
    }

    /// One member that tells the kind: `json`, `text`, `base64` or `file`.
    private func body(_ exchange: Exchange) -> JSONValue {
        if let path = exchange.savedPath { return ["file": .string(path)] }
        guard let body = exchange.body, !body.isEmpty else { return nil }
        switch BodyText.content(of: body, claimsJSON: exchange.claimsJSON) {
        case .json(let value): return ["json": value]
        case .text(let text): return ["text": .string(text)]
        case .brokenJSON:
            guard let text = String(validating: body, as: UTF8.self) else { fallthrough }
            return ["text": .string(text)]
        case .binary: return ["base64": .string(body.base64EncodedString())]
        }
    }

    private func headers(_ headers: HTTPHeaders) -> JSONValue {
        .array(
            headers.map { header in
                let value = showsSecrets ? header.value : Redaction.value(of: header)
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
            "proxy": ExchangeReport.text(Redaction.url(metrics.proxy)),
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
            "advice": text(failure.error.advice),
        ]
    }
}

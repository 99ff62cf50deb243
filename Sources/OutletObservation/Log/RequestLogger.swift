public import Dispatch
import FoundationEssentials
public import OutletHTTP
public import OutletTransport
public import OutletSession

/// Logs events of requests, one line each, as JSON or as `key=value` pairs (logfmt).
///
/// Secrets are always redacted (see `Redaction`). Events and their levels:
///
/// | event | level | when |
/// |---|---|---|
/// | `request` | `info`; `error` if it failed | a request has ended |
/// | `retry` | `warning` | another attempt follows |
/// | `transfer` | `debug` | a transfer has ended: each attempt and each redirect |
/// | `start` | `debug` | the request of an attempt is ready to be sent |
/// | `cancel`, `suspend`, `resume` | `debug` | a request was cancelled, suspended or resumed |
///
/// The fields; those that are not known are left out:
///
/// - `time`: ISO 8601, UTC.
/// - `level` and `event`: see above.
/// - `id`, `method` and `url`: of the request.
/// - `status`: of the response.
/// - `attempt`: the number of the attempt, from 1.
/// - `duration_ms`: the duration of the transfer, or of the request's last attempt.
/// - `queued_ms`: how long it waited in the transport's queue.
/// - `bytes_sent` and `bytes_received`: the lengths of the bodies on the wire.
/// - `reused`: whether the connection was reused.
/// - `protocol`: the HTTP version.
/// - `remote`: the address of the server or proxy.
/// - `redirects`: the number of redirects that were followed.
/// - `location`: the destination of a redirect.
/// - `error`: the reason of the failure.
///
/// Thread: lines are written on ``queue``, one at a time.
public final class RequestLogger: EventMonitor {
    /// The importance of a line.
    public enum Level: String, Sendable, Comparable, CaseIterable {
        /// Each transfer and change of state.
        case debug
        /// Each request that succeeded.
        case info
        /// Each retry.
        case warning
        /// Each request that failed.
        case error

        /// Orders levels from debug to error.
        public static func < (a: Level, b: Level) -> Bool { a.rank < b.rank }

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warning: 2
            case .error: 3
            }
        }
    }

    /// The format of a line.
    public enum Format: Sendable, CaseIterable {
        /// One JSON object.
        case json
        /// `key=value` pairs, values in quotes if necessary.
        case logfmt
    }

    private let level: Level
    private let format: Format
    private let redaction: Redaction
    private let sink: LogSink

    /// The serial queue on which lines are written.
    public let queue: DispatchQueue = DispatchQueue(label: "outlet.log")

    /// Makes a logger.
    ///
    /// - Parameters:
    ///   - sink: The destination of the lines; standard error by default.
    ///   - level: The lowest level that is written; `info` by default.
    ///   - format: The format of the lines; JSON by default.
    ///   - names: Names, or parts of names, of headers, parameters and JSON members that are
    ///     secrets in addition to those of `Redaction.standard`; case-insensitive.
    public init(
        to sink: LogSink = .standardError, level: Level = .info, format: Format = .json,
        hiding names: Set<String> = []
    ) {
        self.sink = sink
        self.level = level
        self.format = format
        var redaction = Redaction.standard
        let names = names.map(\.lowercasedASCII)
        redaction.headerNames.formUnion(names)
        redaction.nameParts += names
        self.redaction = redaction
    }

    // MARK: Events

    /// Logs `request`, and again if a retrier starts another attempt after a serializer has failed.
    ///
    /// - Parameter request: The request.
    public func requestDidFinish(_ request: Request) {
        let error = request.error
        write("request", error == nil ? .info : .error, of: request) { line in
            line.add("status", request.response?.statusCode)
            line.add("attempt", request.retryCount + 1)
            if let metrics = request.metrics {
                line.add(metrics)
                line.add("redirects", metrics.redirectCount)
            }
            line.add("error", error.map { text(of: $0) })
        }
    }

    /// Logs `retry`.
    ///
    /// - Parameter request: The request.
    public func requestIsRetrying(_ request: Request) {
        write("retry", .warning, of: request) { $0.add("attempt", request.retryCount + 1) }
    }

    /// Logs `transfer`.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - exchange: What was sent and received, with metrics.
    ///   - task: The transfer.
    public func request(
        _ request: Request, didComplete exchange: TransferExchange, of task: any TransferTask
    ) {
        write("transfer", .debug, of: request, exchange.request) { line in
            line.add("status", exchange.response?.statusCode)
            line.add("attempt", exchange.attempt)
            line.add(exchange.metrics)
            let location = exchange.response?.headers["Location"]
            line.add("location", location.map { redaction.address($0) })
            line.add("error", exchange.error.map { text(of: $0) })
        }
    }

    /// Logs `start`.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urlRequest: The adapted request.
    public func request(_ request: Request, didCreateURLRequest urlRequest: HTTPRequest) {
        write("start", .debug, of: request, urlRequest) { _ in }
    }

    /// Logs `cancel`.
    ///
    /// - Parameter request: The request.
    public func requestDidCancel(_ request: Request) {
        write("cancel", .debug, of: request) { _ in }
    }

    /// Logs `suspend`.
    ///
    /// - Parameter request: The request.
    public func requestDidSuspend(_ request: Request) {
        write("suspend", .debug, of: request) { _ in }
    }

    /// Logs `resume`.
    ///
    /// - Parameter request: The request.
    public func requestDidResume(_ request: Request) {
        write("resume", .debug, of: request) { _ in }
    }

    /// The text of an error, without method and URL, which are separate fields.
    private func text(of error: any Error) -> String {
        if case .sessionTaskFailed(let error)? = error as? SessionError { return text(of: error) }
        guard let transfer = error as? TransferError else { return redaction.text("\(error)") }
        return redaction.text((transfer.host.map { "\($0): " } ?? "") + transfer.finding)
    }

    private func write(
        _ event: String, _ level: Level, of request: Request, _ sent: HTTPRequest? = nil,
        _ fill: (inout LogLine) -> Void
    ) {
        guard level >= self.level else { return }
        var line = LogLine()
        line.add(
            "time",
            Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        line.add("level", level.rawValue)
        line.add("event", event)
        line.add("id", request.id.uuidString)
        let shown = sent ?? request.lastRequest
        line.add("method", shown?.method.rawValue)
        line.add("url", shown?.url.map { redaction.url($0) })
        fill(&line)
        sink.write(line.text(format))
    }
}

/// The fields of one line.
struct LogLine {
    private(set) var fields = JSONObject()

    mutating func add(_ name: String, _ value: String?) {
        if let value { fields[name] = .string(value) }
    }

    mutating func add(_ name: String, _ value: Int?) {
        if let value { fields[name] = .int(Int64(value)) }
    }

    mutating func add(_ metrics: TransferMetrics) {
        fields["duration_ms"] = .double(Double(metrics.total) / 1000)
        if metrics.queued > 0 { fields["queued_ms"] = .double(Double(metrics.queued) / 1000) }
        fields["bytes_sent"] = .int(metrics.requestBodyBytes)
        fields["bytes_received"] = .int(metrics.responseBodyBytes)
        fields["reused"] = .bool(metrics.isReusedConnection)
        if !metrics.httpVersion.isEmpty { add("protocol", metrics.httpVersion) }
        if !metrics.remoteAddress.isEmpty { add("remote", metrics.remoteAddress) }
    }

    /// The line with its line feed; line feeds in values are escaped.
    func text(_ format: RequestLogger.Format) -> String {
        switch format {
        case .json: JSONValue.object(fields).text() + "\n"
        case .logfmt:
            fields.map { "\($0.name)=\(Self.word($0.value))" }.joined(separator: " ") + "\n"
        }
    }

    private static func word(_ value: JSONValue) -> String {
        guard case .string(let text) = value else { return value.text() }
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x3D && $0 != 0x5C }
        return isPlain && !text.isEmpty ? text : value.text()
    }
}

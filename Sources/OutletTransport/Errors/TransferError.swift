public import FoundationEssentials
public import OutletHTTP

/// Why a transfer failed: a stable code, the stage, the host, and what a person can do about it.
///
/// Two are equal when they tell of the same failure, whichever request it was.
public struct TransferError: Error, Sendable, Equatable {
    /// Where in the transfer's life it failed.
    public enum Stage: String, Sendable, CaseIterable {
        /// Before anything was sent: the address, the options.
        case preparing
        /// Waiting for a free connection.
        case queued
        /// Looking up the host's name.
        case resolving
        /// Connecting to the host or the proxy.
        case connecting
        /// Agreeing on TLS.
        case securing
        /// Sending the request.
        case sending
        /// Waiting for the first byte of the response.
        case waiting
        /// Receiving the response.
        case receiving
    }

    private struct Facts: Sendable, Equatable {
        var code: Code
        var stage: Stage
        var host: String?
        var reason: String
        var advice: String
        var underlyingCode: Int32?
        var statusCode: Int?
        var downloadResumeData: Data?
        var method: HTTPMethod?
        var url: URL?
        var cause = Cause()
    }

    /// What a layer failed a transfer with; no part of what makes two failures the same.
    private struct Cause: Sendable, Equatable {
        var error: (any Error)?

        static func == (a: Cause, b: Cause) -> Bool { true }
    }

    /// Boxed, so that the many results without an error do not carry room for one.
    private var facts: Boxed<Facts>

    /// What went wrong.
    public var code: Code {
        get { facts.value.code }
        set { facts.value.code = newValue }
    }

    /// When it went wrong.
    public var stage: Stage {
        get { facts.value.stage }
        set { facts.value.stage = newValue }
    }

    /// The host (and port, where it is not the scheme's own) that was talked to.
    public var host: String? {
        get { facts.value.host }
        set { facts.value.host = newValue }
    }

    /// The fact behind the code, from the library or the system; no secrets.
    public var reason: String {
        get { facts.value.reason }
        set { facts.value.reason = newValue }
    }

    /// What to try next; empty when there is nothing to say.
    public var advice: String {
        get { facts.value.advice }
        set { facts.value.advice = newValue }
    }

    /// libcurl's code, where there is one (`CURLcode`).
    public var underlyingCode: Int32? {
        get { facts.value.underlyingCode }
        set { facts.value.underlyingCode = newValue }
    }

    /// The status of the response that was refused, where that is the reason; set by the session.
    public var statusCode: Int? {
        get { facts.value.statusCode }
        set { facts.value.statusCode = newValue }
    }

    /// What a download can be gone on with; set by the session, not by transports.
    public var downloadResumeData: Data? {
        get { facts.value.downloadResumeData }
        set { facts.value.downloadResumeData = newValue }
    }

    /// The method of the request that failed; set by the session.
    public var method: HTTPMethod? {
        get { facts.value.method }
        set { facts.value.method = newValue }
    }

    /// The address of the request that failed, as it was sent; set by the session.
    public var url: URL? {
        get { facts.value.url }
        set { facts.value.url = newValue }
    }

    /// What a layer failed the transfer with, where that is an error of its own type: requests fail
    /// with it in place of this.
    public var cause: (any Error)? {
        get { facts.value.cause.error }
        set { facts.value.cause.error = newValue }
    }

    /// Makes the error of a transfer that a layer does not let pass.
    ///
    /// - Parameter cause: Why; the request fails with this error itself.
    public init(refusedBecauseOf cause: any Error) {
        self.init(code: .refused, reason: "\(cause)")
        self.cause = cause
    }

    /// Makes an error.
    public init(
        code: Code, stage: Stage = .preparing, host: String? = nil, reason: String,
        advice: String = "", underlyingCode: Int32? = nil
    ) {
        facts = Boxed(
            Facts(
                code: code, stage: stage, host: host, reason: reason, advice: advice,
                underlyingCode: underlyingCode))
    }

    /// An address names no server that a request can be sent to.
    package init(_ error: OriginError) {
        let isSchemes =
            switch error {
            case .noScheme, .unsupportedScheme: true
            default: false
            }
        self.init(
            code: isSchemes ? .unsupportedURL : .badURL, reason: "address: \(error)",
            advice: Self.addressAdvice)
    }

    package static let addressAdvice = "write it as http://host/path or https://host/path"

    /// The transfer was cancelled.
    public static var cancelled: TransferError {
        TransferError(code: .cancelled, reason: "the transfer was cancelled")
    }
}

extension TransferError {
    /// What to do about a limit: the setting of a session's configuration, and the program's
    /// option.
    package static func raise(_ setting: String, _ option: String) -> String {
        "raise \(setting), in the program \(option)"
    }

    /// Whether both tell of the same failure.
    public static func == (a: TransferError, b: TransferError) -> Bool {
        var other = b
        other.method = a.method
        other.url = a.url
        return a.facts == other.facts
    }

    /// The same error, with the request that failed.
    ///
    /// - Parameter opensWebSocket: Whether the request is a WebSocket's handshake, which has the
    ///   WebSocket's address and no method to speak of.
    package func naming(_ request: HTTPRequest?, opensWebSocket: Bool = false) -> TransferError {
        guard url == nil, let request else { return self }
        var named = self
        named.method = opensWebSocket ? nil : request.method
        named.url = opensWebSocket ? request.url?.webSocketAddress : request.url
        return named
    }

    /// What happened, the fact, what to try, without the request.
    package var finding: String { advice.isEmpty ? reason : "\(reason) (\(advice))" }
}

extension TransferError: CustomStringConvertible {
    /// One line: method and address without secrets, or the host where they are not known, what
    /// happened, the fact, what to try.
    public var description: String {
        guard let url else { return host.map { "\($0): \(finding)" } ?? finding }
        let name = method.map { "\($0) " } ?? ""
        return "\(name)\(Redaction.standard.url(url)): \(finding)"
    }
}

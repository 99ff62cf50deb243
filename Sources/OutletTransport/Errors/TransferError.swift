public import FoundationEssentials
public import OutletHTTP

/// Why a transfer failed: a stable code, the stage, the host, the reason and an advice.
///
/// The comparison ignores ``method``, ``url`` and ``cause``.
public struct TransferError: Error, Sendable, Equatable {
    /// The stage of the transfer in which it failed.
    public enum Stage: String, Sendable, CaseIterable {
        /// Before anything was sent: checking the URL, the request and the settings.
        case preparing
        /// Waiting for a free connection.
        case queued
        /// Looking up the host name.
        case resolving
        /// Connecting to the host or the proxy.
        case connecting
        /// Performing the TLS handshake.
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

    /// The error of a layer; wrapped, because the comparison of two errors ignores it.
    private struct Cause: Sendable, Equatable {
        var error: (any Error)?

        static func == (a: Cause, b: Cause) -> Bool { true }
    }

    /// Boxed, so that an optional error without a value occupies one pointer.
    private var facts: Boxed<Facts>

    /// What went wrong.
    public var code: Code {
        get { facts.value.code }
        set { facts.value.code = newValue }
    }

    /// The stage of the transfer in which it went wrong.
    public var stage: Stage {
        get { facts.value.stage }
        set { facts.value.stage = newValue }
    }

    /// The server's host, with the port if it is not the scheme's default; `nil` if it is not
    /// known.
    public var host: String? {
        get { facts.value.host }
        set { facts.value.host = newValue }
    }

    /// The details, often a message of libcurl or the system; contains no secrets.
    public var reason: String {
        get { facts.value.reason }
        set { facts.value.reason = newValue }
    }

    /// What the user can do about it; empty if there is no advice.
    public var advice: String {
        get { facts.value.advice }
        set { facts.value.advice = newValue }
    }

    /// The `CURLcode`, if libcurl has reported the error.
    public var underlyingCode: Int32? {
        get { facts.value.underlyingCode }
        set { facts.value.underlyingCode = newValue }
    }

    /// The response's status code, if that is why the request failed; set by the session.
    public var statusCode: Int? {
        get { facts.value.statusCode }
        set { facts.value.statusCode = newValue }
    }

    /// The data to resume the download with; `nil` if it cannot be resumed.
    ///
    /// Set by the session.
    public var downloadResumeData: Data? {
        get { facts.value.downloadResumeData }
        set { facts.value.downloadResumeData = newValue }
    }

    /// The method of the request that failed; set by the session.
    public var method: HTTPMethod? {
        get { facts.value.method }
        set { facts.value.method = newValue }
    }

    /// The URL of the request that failed, as it was sent; set by the session.
    public var url: URL? {
        get { facts.value.url }
        set { facts.value.url = newValue }
    }

    /// The error of a layer that has refused the transfer; `nil` otherwise.
    ///
    /// The request fails with the cause instead of this error.
    public var cause: (any Error)? {
        get { facts.value.cause.error }
        set { facts.value.cause.error = newValue }
    }

    /// Makes the error of a transfer that a layer refuses, with ``Code/refused``.
    ///
    /// - Parameter cause: Why the layer refuses it; the request fails with this error.
    public init(refusedBecauseOf cause: any Error) {
        self.init(code: .refused, reason: "\(cause)")
        self.cause = cause
    }

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - stage: The stage in which it went wrong; `preparing` by default.
    ///   - host: The server's host, if it is known.
    ///   - reason: The details, in one line; must not contain secrets.
    ///   - advice: What the user can do about it; empty for no advice.
    ///   - underlyingCode: The `CURLcode`, if libcurl has reported the error.
    public init(
        code: Code, stage: Stage = .preparing, host: String? = nil, reason: String,
        advice: String = "", underlyingCode: Int32? = nil
    ) {
        facts = Boxed(
            Facts(
                code: code, stage: stage, host: host, reason: reason, advice: advice,
                underlyingCode: underlyingCode))
    }

    /// Makes the error of a URL that requests cannot be sent to.
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
    /// Whether both describe the same failure; ignores ``method``, ``url`` and ``cause``.
    public static func == (a: TransferError, b: TransferError) -> Bool {
        var other = b
        other.method = a.method
        other.url = a.url
        return a.facts == other.facts
    }

    /// Returns the error with ``method`` and ``url`` of the request that failed, unless it has a
    /// URL already.
    ///
    /// For a WebSocket's handshake (`opensWebSocket`) the error has no method, and the URL's scheme
    /// is `ws` or `wss`.
    package func naming(_ request: HTTPRequest?, opensWebSocket: Bool = false) -> TransferError {
        guard url == nil, let request else { return self }
        var named = self
        named.method = opensWebSocket ? nil : request.method
        named.url = opensWebSocket ? request.url?.webSocketAddress : request.url
        return named
    }

    /// The reason and the advice, without the request.
    package var finding: String { advice.isEmpty ? reason : "\(reason) (\(advice))" }
}

extension TransferError: CustomStringConvertible, LocalizedError {
    /// One line: method and URL without secrets, or the host if they are not known, then reason and
    /// advice.
    public var description: String {
        guard let url else { return host.map { "\($0): \(finding)" } ?? finding }
        let name = method.map { "\($0) " } ?? ""
        return "\(name)\(Redaction.standard.shortAddress(url.absoluteString)): \(finding)"
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

extension TransferError: CustomReflectable {
    /// A mirror without members: `dump` and other readers of mirrors would show secrets of the URL.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

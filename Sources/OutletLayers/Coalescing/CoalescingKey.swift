import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The values that two requests must have in common to share one transfer.
struct CoalescingKey: Hashable, Sendable {
    /// The origin of the URL.
    let origin: Origin
    private let method: HTTPMethod
    private let address: String
    /// The name in lower case and the value of each relevant field, sorted by name; as bytes, because
    /// equal texts may have different ones.
    private let fields: [[[UInt8]]]
    private let timeout: Double
    private let credential: Credential?
    private let cachePolicy: HTTPRequest.CachePolicy
    /// Whether the cookies of the session are sent and stored.
    private let handlesCookies: Bool
    /// Decides with the URL whether cookies are accepted; see ``CookieAcceptPolicy``.
    private let firstURL: URL?
    /// How often the stored cookies and the stored credentials had changed.
    private let cookieChanges: Int
    private let credentialChanges: Int

    /// Fields that identify a single request without affecting the response.
    private static let ignored: Set<String> = [
        "x-request-id", "x-correlation-id", "traceparent", "tracestate",
    ]

    /// Makes the key of a job; `nil` for jobs that are never shared.
    ///
    /// Values of the request's context do not count, except those that the session knows.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - cookies: The cookies that are sent with it; `nil` for none.
    ///   - credentials: The credentials that answer its challenges; `nil` for none.
    init?(
        _ job: TransferJob, cookies: CookieStorage? = nil, credentials: CredentialStorage? = nil
    ) {
        let request = job.request
        guard request.method == .get || request.method == .head, request.body.isNone,
            job.delivery == .collect, let url = request.url,
            let canonical = try? CanonicalAddress(url.absoluteString),
            // A handler of the request decides only about the response to this request.
            job.cachedResponseHandler == nil,
            // A response that was supplied with a request is for this request only.
            request.givenAnswer == nil, !request.hasContext || !request.context.needsOwnTransfer
        else { return nil }
        origin = canonical.origin
        method = request.method
        address = canonical.textWithoutFragment
        // Counted before the cookies are read, so that a change in between is not missed. Only the
        // fields show that a cookie has expired; only the number shows what is sent after a change
        // that comes between this and the start of the transfer.
        cookieChanges = cookies?.changes ?? 0
        credentialChanges = credentials?.changes ?? 0
        let headers = cookies?.addingCookies(to: request)?.headers ?? request.headers
        fields = headers.map { ($0.name.lowercasedASCII, $0.valueBytes) }
            .filter { !Self.ignored.contains($0.0) }
            .enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
            .map { [Array($0.element.0.utf8), $0.element.1] }
        timeout = request.timeoutInterval
        credential = job.credential
        cachePolicy = request.cachePolicy
        handlesCookies = request.httpShouldHandleCookies
        firstURL = job.firstURL
    }
}

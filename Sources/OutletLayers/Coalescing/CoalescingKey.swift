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

    /// Fields that identify a single request without affecting the response.
    private static let ignored: Set<String> = [
        "x-request-id", "x-correlation-id", "traceparent", "tracestate",
    ]

    /// Makes the key of a job; `nil` for jobs that are never shared.
    ///
    /// Values of the request's context do not count, except those that the session knows.
    init?(_ job: TransferJob) {
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
        fields = request.headers.map { ($0.name.lowercasedASCII, $0.valueBytes) }
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

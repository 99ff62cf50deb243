import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What two requests must have in common to share one transfer.
struct CoalescingKey: Hashable, Sendable {
    private let method: HTTPMethod
    private let address: String
    /// Name in lower case and value of each field that counts, by name.
    private let fields: [[String]]
    private let timeout: Double
    private let credential: Credential?
    private let cachePolicy: HTTPRequest.CachePolicy

    /// Fields that identify a single request without affecting the response.
    private static let ignored: Set<String> = [
        "x-request-id", "x-correlation-id", "traceparent", "tracestate",
    ]

    /// The key of a transfer; `nil` for those that are never shared.
    init?(_ job: TransferJob) {
        let request = job.request
        guard request.method == .get || request.method == .head, request.body.isNone,
            job.delivery == .collect, let url = request.url,
            let canonical = try? CanonicalAddress(url.absoluteString),
            // An answer that was given to this request is for it alone.
            request.givenAnswer == nil, !request.hasContext || !request.context.needsOwnTransfer
        else { return nil }
        method = request.method
        address = canonical.textWithoutFragment
        fields = request.headers.map { [$0.name.lowercasedASCII, $0.value] }
            .filter { !Self.ignored.contains($0[0]) }
            .enumerated().sorted { ($0.element[0], $0.offset) < ($1.element[0], $1.offset) }
            .map(\.element)
        timeout = request.timeoutInterval
        credential = job.credential
        cachePolicy = request.cachePolicy
    }
}

public import OutletPluginKit

/// Retries a failed request, after a delay that doubles or that the server requests.
///
/// Retries only idempotent methods (RFC 9110 §9.2.2), after a failed transfer or a status of 408,
/// 429 or 5xx. A `Retry-After` in seconds replaces the doubled delay.
///
/// Configuration: `maxAttempts` (3, 1 to 11, the first one included), `baseDelayMs` (200),
/// `maxDelayMs` (10000; after a longer `Retry-After` the request is not retried).
struct Pacer: RequestRetrying, FunctionExporting {
    static let info = PluginInfo(
        id: "dev.outlet.pacer", version: "1.0.0", name: "Pacer",
        summary: "Retries failed requests with growing delays.",
        configurationSchema: """
            {"type":"object","properties":{"maxAttempts":{"type":"integer","minimum":1,\
            "maximum":11},"baseDelayMs":{"type":"integer","minimum":0},\
            "maxDelayMs":{"type":"integer","minimum":0,"maximum":86400000}},\
            "additionalProperties":false}
            """,
        isNonblocking: true)

    let pace: Pace

    init(host: Host, configuration: Configuration) throws {
        pace = Pace(
            maximumAttempts: try configuration.integer("maxAttempts") ?? 3,
            baseDelay: .milliseconds(try configuration.integer("baseDelayMs") ?? 200),
            maximumDelay: .milliseconds(try configuration.integer("maxDelayMs") ?? 10_000))
        guard pace.maximumAttempts >= 1, pace.baseDelay >= .zero, pace.maximumDelay >= .zero else {
            throw PluginError("configuration: maxAttempts is below 1, or a delay below 0")
        }
    }

    func retry(_ request: Request, after response: Response, attempt: Int) -> RetryDecision {
        guard Pace.isIdempotent(request.method) else { return .doNotRetry }
        let retryAfter = response.header("Retry-After").flatMap(Int.init)
        guard
            let delay = pace.delay(
                afterAttempt: attempt, status: response.status, retryAfter: retryAfter)
        else { return .doNotRetry }
        return delay > .zero ? .retryAfter(delay) : .retry
    }

    static let exports = [
        Export(
            "delay_ms", summary: "The wait after an attempt, in milliseconds; -1 for none.",
            integer: { instance, attempt in
                guard let pacer = Export.plugin(instance, as: Pacer.self),
                    let attempt = Int(exactly: attempt), attempt > 0,
                    let delay = pacer.pace.delay(
                        afterAttempt: attempt, status: nil, retryAfter: nil)
                else { return -1 }
                return delay.components.seconds * 1000
                    + delay.components.attoseconds / 1_000_000_000_000_000
            })
    ]
}

private let module = PluginModule(Pacer.self)

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The symbol that the host looks up; its type is checked against `outlet/entry.h`.
@c @implementation
public func outlet_module_v1(_ hostMinor: UInt32) -> UnsafePointer<outlet_module>? {
    module.table
}

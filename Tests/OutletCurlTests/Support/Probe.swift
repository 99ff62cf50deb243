import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport

@testable import OutletTransport

/// A handler that records its calls, and returns the decisions that the test sets.
final class Probe: TransferHandler {
    /// One call of the handler.
    enum Event: Sendable {
        case head(HTTPResponse)
        case chunk([UInt8])
        case progress(TransferCounts)
        case end(TransferResult)
    }

    let events = Recorder<Event>()
    let end = Once<TransferResult>()
    private let onHead: @Sendable (HTTPResponse) -> TransferDecision
    private let onChunk: @Sendable ([UInt8]) -> TransferDecision

    init(
        onHead: @escaping @Sendable (HTTPResponse) -> TransferDecision = { _ in .proceed },
        onChunk: @escaping @Sendable ([UInt8]) -> TransferDecision = { _ in .proceed }
    ) {
        self.onHead = onHead
        self.onChunk = onChunk
    }

    /// Whether the end was recorded; true before ``end`` is set.
    var isOver: Bool {
        events.values.contains { if case .end = $0 { true } else { false } }
    }

    var heads: [HTTPResponse] {
        events.values.compactMap { if case .head(let head) = $0 { head } else { nil } }
    }

    var chunks: [UInt8] {
        events.values.flatMap { if case .chunk(let chunk) = $0 { chunk } else { [UInt8]() } }
    }

    /// Returns whether the chunks are these bytes.
    ///
    /// `#expect` with this `Bool` does not print the bytes, which would fill the screen.
    func received(_ bytes: [UInt8]) -> Bool { chunks == bytes }

    var progress: [TransferCounts] {
        events.values.compactMap { if case .progress(let counts) = $0 { counts } else { nil } }
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        events.record(.head(head))
        return onHead(head)
    }

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        events.record(.chunk(Array(chunk)))
        return onChunk(Array(chunk))
    }

    func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {
        events.record(.progress(progress))
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        events.record(.end(result))
        end.set(result)
    }
}

/// Calls a closure when a transfer ends, on the thread of the callback.
final class Ending: TransferHandler {
    private let body: @Sendable (TransferResult) -> Void

    init(_ body: @escaping @Sendable (TransferResult) -> Void) { self.body = body }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        body(result)
    }
}

extension CurlTransport {
    /// Performs one request and waits for its end.
    func perform(_ request: HTTPRequest) async throws -> TransferResult {
        try await carry(TransferJob(request: request))
    }

    /// Performs one job and waits for its end.
    func carry(_ job: TransferJob, probe: Probe = Probe()) async throws -> TransferResult {
        _ = start(job, handler: probe)
        return try await probe.end.value()
    }

    /// Performs a `GET` request and waits for its end.
    func get(_ url: String, headers: HTTPHeaders = HTTPHeaders()) async throws -> TransferResult {
        try await perform(HTTPRequest(url: URL(string: url), headers: headers))
    }
}

extension TransferResult {
    /// The body as text; empty if there is no body.
    var text: String { String(decoding: body ?? Data(), as: UTF8.self) }
}

extension TransportConfiguration {
    /// The default settings without a proxy, changed by `change`.
    ///
    /// Without it, a proxy in the environment would change the results.
    static func test(_ change: (inout TransportConfiguration) -> Void = { _ in })
        -> TransportConfiguration
    {
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        change(&configuration)
        return configuration
    }
}

extension CurlTransport {
    /// A transport with the default settings and without a proxy.
    static func test(_ change: (inout TransportConfiguration) -> Void = { _ in }) -> CurlTransport {
        CurlTransport(configuration: .test(change))
    }
}

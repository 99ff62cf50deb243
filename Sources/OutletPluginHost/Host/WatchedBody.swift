import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The bodies of the responses to a request, as one plugin watches them.
///
/// Thread: any, one piece at a time.
final class WatchedBody: Sendable {
    /// Shows a piece.
    typealias Shower =
        @Sendable (
            OpaquePointer, outlet_call, outlet_response, UInt64, outlet_view, outlet_completion
        ) -> outlet_status

    private let stream: PluginStream
    /// The time limit for an answer, in nanoseconds.
    private let limit: UInt64
    private let show: Shower

    init(_ stream: PluginStream, limit: UInt64, show: @escaping Shower) {
        self.stream = stream
        self.limit = limit
        self.show = show
    }

    /// Shows a piece, or the end.
    ///
    /// - Parameters:
    ///   - offset: How much of the body came before.
    ///   - answered: Called once, never on the plugin's stack, with why the transfer ends.
    func show(
        _ piece: PluginPiece, of head: HTTPResponse, behind offset: UInt64,
        answered: @escaping @Sendable (PluginError?) -> Void
    ) {
        stream.note(isWhole: piece.isEmpty)
        let response = ResponseHandle(
            .init(response: head, body: Data()), isMutable: false)
        stream.ask(
            .streamPiece, passing: .init(request: piece, response: response), limit: limit
        ) { [show] in
            show($0, $1, $2.response, offset, piece.view, $2)
        } answered: { [stream] failure in
            answered(failure.flatMap { stream.instance.passesOver($0) ? nil : $0 })
        }
    }
}

extension HTTPRequest {
    /// Who watches the bodies of its responses.
    var watchedBodies: [WatchedBody] {
        get { hasContext ? context[WatchedBodies.self] ?? [] : [] }
        set { context[WatchedBodies.self] = newValue }
    }
}

private enum WatchedBodies: RequestContextKey { typealias Value = [WatchedBody] }

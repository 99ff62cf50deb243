import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletTransport
import Synchronization

/// Passes the bodies of the responses to a request to one plugin, piece by piece.
///
/// Thread: any, one piece at a time.
final class WatchedBody: Sendable {
    /// Calls the plugin with a piece and its offset in the body.
    typealias Shower =
        @Sendable (
            OpaquePointer, outlet_call, outlet_response, UInt64, outlet_view, outlet_completion
        ) -> outlet_status

    private let stream: PluginStream
    /// The time limit for an answer, in nanoseconds.
    private let limit: UInt64
    private let show: Shower
    /// Whether the plugin has failed for the present body, whose transfer continues without it.
    private let isSkipped = Atomic(false)

    init(_ stream: PluginStream, limit: UInt64, show: @escaping Shower) {
        self.stream = stream
        self.limit = limit
        self.show = show
    }

    /// The plugin's id.
    var plugin: String { stream.instance.id }

    /// Begins the body of another response: the stream is complete when this one is.
    func begin() {
        stream.note(isWhole: false)
        isSkipped.store(false, ordering: .relaxed)
    }

    /// Records that all plugins have accepted the end of the body.
    func end() {
        if !isSkipped.load(ordering: .relaxed) { stream.note(isWhole: true) }
    }

    /// Passes a piece, or the end of the body, to the plugin, unless it has failed for an earlier one.
    ///
    /// It would not see the whole body then, and each piece could take its time limit.
    ///
    /// - Parameters:
    ///   - piece: The piece; empty for the end of the body.
    ///   - head: The response.
    ///   - offset: The number of bytes of the body before the piece.
    ///   - answered: Called once, on any thread but never inside a call of the plugin, with the
    ///     error that fails the transfer; `nil` to continue.
    func show(
        _ piece: PluginPiece, of head: HTTPResponse, behind offset: UInt64,
        answered: @escaping @Sendable (PluginError?) -> Void
    ) {
        guard !isSkipped.load(ordering: .relaxed) else { return answered(nil) }
        let response = ResponseHandle(
            .init(response: head, body: Data()), isMutable: false)
        stream.ask(
            .streamPiece, passing: .init(request: piece, response: response), limit: limit
        ) { [show] in
            show($0, $1, $2.response, offset, piece.view, $2)
        } answered: { [self] failure in
            guard let failure, stream.instance.skips(failure, of: stream.name) else {
                return answered(failure)
            }
            isSkipped.store(true, ordering: .relaxed)
            answered(nil)
        }
    }
}

extension HTTPRequest {
    /// The plugins that watch the bodies of the request's responses.
    var watchedBodies: [WatchedBody] {
        get { hasContext ? context[WatchedBodies.self] ?? [] : [] }
        set { context[WatchedBodies.self, describing: .call] = newValue }
    }
}

private enum WatchedBodies: RequestContextKey { typealias Value = [WatchedBody] }

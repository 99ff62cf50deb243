import OutletHTTP
import OutletTransport

/// Passes the body of one response, piece by piece, to the plugins that watch it.
///
/// The plugins are called one after the other. The program receives a piece after all of them have
/// accepted it.
final class HookedBodies: BodyObserver {
    private let bodies: [WatchedBody]
    /// The number of bytes received so far.
    private let offset = Lock(UInt64(0))
    /// The plugin that was called last.
    private let current = Lock("")

    /// Begins a response, which may follow those of earlier transfers.
    init(_ bodies: [WatchedBody]) {
        self.bodies = bodies
        for body in bodies { body.begin() }
    }

    var name: String {
        "plugin \(current.withLock { $0 }), which has not accepted a piece of it (stream_piece)"
    }

    func transfer(
        _ task: any TransferTask, isAboutToDeliver bytes: UnsafeRawBufferPointer,
        of head: HTTPResponse, goOn: @escaping @Sendable (TransferError?) -> Void
    ) -> BodyDecision {
        let start = offset.withLock { offset in
            defer { offset += UInt64(bytes.count) }
            return offset
        }
        let answer = PendingAnswer<TransferError?>()
        show(PluginPiece(bytes), to: bodies[...], of: head, behind: start, answer)
        switch answer.given {
        case .some(.none): return .proceed
        case .some(.some(let error)): return .fail(error)
        case .none:
            answer.whenGiven(goOn)
            return .wait
        }
    }

    private func show(
        _ piece: PluginPiece, to bodies: ArraySlice<WatchedBody>, of head: HTTPResponse,
        behind start: UInt64, _ answer: PendingAnswer<TransferError?>
    ) {
        guard let body = bodies.first else {
            if piece.isEmpty { for body in self.bodies { body.end() } }
            return answer.give(nil)
        }
        current.withLock { $0 = body.plugin }
        body.show(piece, of: head, behind: start) { failure in
            if let failure { return answer.give(TransferError(refusedBecauseOf: failure)) }
            self.show(piece, to: bodies.dropFirst(), of: head, behind: start, answer)
        }
    }
}

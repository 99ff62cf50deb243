import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A layer that observes the heads of responses without changing them.
protocol HeadObserver: AnyObject, Sendable {
    /// A final head was received from a server; most heads have nothing to learn.
    ///
    /// Thread: the transport's; must not block.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - request: The request that was sent.
    ///   - first: The URL of the original request, before redirects; `nil` for the request's own
    ///     URL.
    ///   - task: The transfer.
    func learn(
        from head: HTTPResponse, to request: HTTPRequest, startedAt first: URL?,
        by task: any TransferTask)
}

/// Passes a transfer's heads to a layer before its handler receives them.
final class HeadTap<Observer: HeadObserver>: ForwardingTransferHandler, WebSocketHandler {
    private let observer: Observer
    private let request: HTTPRequest
    private let firstURL: URL?
    let handler: any TransferHandler
    /// The same object as ``handler`` for a WebSocket; otherwise `nil`.
    private let socket: (any WebSocketHandler)?

    init(
        _ observer: Observer, _ request: HTTPRequest, startedAt firstURL: URL?,
        handler: any TransferHandler
    ) {
        self.observer = observer
        self.request = request
        self.firstURL = firstURL
        self.handler = handler
        socket = nil
    }

    init(
        _ observer: Observer, _ request: HTTPRequest, startedAt firstURL: URL?,
        handler: any WebSocketHandler
    ) {
        self.observer = observer
        self.request = request
        self.firstURL = firstURL
        self.handler = handler
        socket = handler
    }

    private func show(_ head: HTTPResponse, _ task: any TransferTask) {
        // Stored responses do not update cookies and policies again; answers of plugins never do.
        guard head.isFinal, task.source == .network else { return }
        observer.learn(from: head, to: request, startedAt: firstURL, by: task)
    }

    func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn) {
        show(head, task)
        handler.transfer(task, didUse: head, turn: turn)
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        show(head, task)
        return handler.transfer(task, didReceive: head, turn: turn)
    }

    func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision {
        socket?.webSocket(connection, didReceive: message, turn: turn) ?? .proceed
    }

    func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn
    ) {
        socket?.webSocket(connection, didCloseWith: code, reason: reason, turn: turn)
    }
}

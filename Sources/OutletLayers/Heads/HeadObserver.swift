import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A layer that learns from the heads of responses, and changes nothing on their way.
protocol HeadObserver: AnyObject, Sendable {
    /// The fields without which there is nothing to be learnt.
    var fields: FieldNames { get }

    /// A final head with one of ``fields`` has come from a server.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - request: What was sent.
    ///   - first: Where the request began, before redirects; `nil` for the request's own address.
    ///   - task: The transfer.
    ///
    /// Thread: the transport's; must not block.
    func learn(
        from head: HTTPResponse, to request: HTTPRequest, startedAt first: URL?,
        by task: any TransferTask)
}

/// Shows a transfer's heads to a layer before its handler gets them.
final class HeadTap<Observer: HeadObserver>: ForwardingTransferHandler, WebSocketHandler {
    private let observer: Observer
    private let request: HTTPRequest
    private let firstURL: URL?
    let handler: any TransferHandler
    /// The same as ``handler``, of a WebSocket.
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

    init(_ observer: Observer, _ request: HTTPRequest, handler: any WebSocketHandler) {
        self.observer = observer
        self.request = request
        firstURL = nil
        self.handler = handler
        socket = handler
    }

    private func show(_ head: HTTPResponse, _ task: any TransferTask) {
        guard head.isFinal, head.headers.containsAny(of: observer.fields) else { return }
        observer.learn(from: head, to: request, startedAt: firstURL, by: task)
    }

    func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn) {
        show(head, task)
        handler.transfer(task, didUse: head, turn: turn)
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        // Stored responses do not update cookies and policies again.
        if task.source == .network { show(head, task) }
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

import Outlet
import OutletTestSupport
import Testing

extension ScriptedServer {
    var webSocketURL: String { "ws://127.0.0.1:\(port)" }
}

extension Request {
    /// The error of the last transfer.
    var transferError: TransferError? {
        guard case .sessionTaskFailed(let error) = error else { return nil }
        return error as? TransferError
    }
}

extension WebSocketRequest {
    /// Waits for the end and returns the names of all events; calls `body` with each event.
    func names(
        _ body: @escaping @Sendable (Event<WebSocketMessage, Never>) -> Void = { _ in }
    ) async throws -> [String] {
        let names = Recorder<String>()
        let ended = Once<Void>()
        streamMessageEvents { event in
            names.record(event.kind.name)
            body(event)
            if case .completed = event.kind { ended.set(()) }
        }
        try await ended.value()
        #expect(ended.callCount == 1)
        return names.values
    }
}

extension WebSocketRequest.Event.Kind {
    var name: String {
        switch self {
        case .connected(let name): name.map { "connected \($0)" } ?? "connected"
        case .receivedMessage(let message):
            switch message as? WebSocketMessage {
            case .string(let text): text
            case .data(let data): "\(data.count) bytes"
            case nil: "\(message)"
            }
        case .serializerFailed: "failed"
        case .disconnected(let code, let reason):
            "disconnected \(code.rawValue)"
                + (reason.map { " " + String(decoding: $0, as: UTF8.self) } ?? "")
        case .completed(let completion):
            switch completion.error {
            case nil: "completed"
            case .explicitlyCancelled: "completed explicitlyCancelled"
            case .sessionTaskFailed(let error):
                "completed \((error as? TransferError)?.code.rawValue ?? "\(error)")"
            case .some(let error): "completed \(error)"
            }
        }
    }
}

extension TransferError {
    /// The error of messages that are sent on a closed WebSocket.
    package static var webSocketIsOver: TransferError {
        TransferError(
            code: .networkConnectionLost, stage: .sending, reason: "the WebSocket is closed")
    }
}

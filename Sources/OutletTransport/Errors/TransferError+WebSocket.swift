extension TransferError {
    /// Nothing is sent any more.
    package static var webSocketIsOver: TransferError {
        TransferError(
            code: .networkConnectionLost, stage: .sending, reason: "the WebSocket is closed")
    }
}

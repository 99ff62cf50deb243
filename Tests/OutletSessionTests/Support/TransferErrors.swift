import OutletSession

/// Errors that transports meet.
enum TransferErrors {
    static let lost = TransferError(code: .networkConnectionLost, reason: "connection lost")
}

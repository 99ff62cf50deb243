import OutletSession
import OutletTransport

/// Errors that transports meet.
enum TransferErrors {
    static let lost = TransferError(code: .networkConnectionLost, reason: "connection lost")
}

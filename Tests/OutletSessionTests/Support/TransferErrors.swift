import OutletSession
import OutletTransport

/// Errors of transports.
enum TransferErrors {
    static let lost = TransferError(code: .networkConnectionLost, reason: "connection lost")
}

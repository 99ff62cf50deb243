package import OutletTransport

/// The body of a response that is not delivered.
///
/// It is read up to a limit, so that the connection can be reused. Beyond the limit, a new
/// connection costs less; the body may be endless.
package struct DroppedBody: Sendable {
    /// The maximum number of bytes that are read.
    package static let limit = 1 << 20

    private var count = 0
    /// Whether the body was longer than the limit, so that its transfer was cancelled.
    package private(set) var isCut = false

    /// Makes a body of which no bytes have been received.
    package init() {}

    /// Counts a chunk.
    ///
    /// - Parameter chunk: The bytes received.
    /// - Returns: Whether to proceed or, beyond the limit, to cancel the transfer.
    package mutating func drop(_ chunk: UnsafeRawBufferPointer) -> TransferDecision {
        count += chunk.count
        guard count > Self.limit else { return .proceed }
        isCut = true
        return .cancel
    }
}

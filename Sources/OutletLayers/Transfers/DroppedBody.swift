package import OutletTransport

/// The body of a response that is not delivered.
///
/// Read so that its connection can be used again, as far as that is cheaper than another
/// connection: a server may send it for ever.
package struct DroppedBody: Sendable {
    /// How many bytes are read.
    package static let limit = 1 << 20

    private var count = 0
    /// Whether it was longer, so that its transfer was cancelled.
    package private(set) var isCut = false

    /// None of it has come.
    package init() {}

    /// Counts a piece.
    package mutating func drop(_ chunk: UnsafeRawBufferPointer) -> TransferDecision {
        count += chunk.count
        guard count > Self.limit else { return .proceed }
        isCut = true
        return .cancel
    }
}

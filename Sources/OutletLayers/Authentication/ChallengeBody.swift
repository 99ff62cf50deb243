import OutletTransport

/// The body of a challenge that is going to be answered; it is not delivered.
struct ChallengeBody: Sendable {
    /// `nil` while no challenge is being received.
    private var dropped: DroppedBody?

    /// Whether a challenge is being received.
    var isExpected: Bool { dropped != nil }

    /// Begins after the head of the challenge.
    mutating func begin() { dropped = DroppedBody() }

    /// Returns whether to go on after a chunk of the challenge; `nil` if it belongs to another
    /// response.
    mutating func drop(_ chunk: UnsafeRawBufferPointer) -> TransferDecision? {
        dropped?.drop(chunk)
    }

    /// Ends with the transfer.
    ///
    /// - Returns: Whether the transfer's response was a challenge that is to be answered now: its
    ///   body has ended, or is so long that its transfer was cancelled.
    mutating func end(with result: TransferResult) -> Bool {
        guard let dropped else { return false }
        self.dropped = nil
        return result.error == nil || dropped.isCut
    }
}

import OutletTransport

/// How far a loop is on its way to its end.
struct LoopClosing {
    /// Whether the loop ends when it has nothing left to do.
    private(set) var hasBegun = false
    /// The error of all transfers after a shutdown; `nil` before.
    private(set) var error: TransferError?
    /// The number of transfers that the shutdown ended.
    private(set) var cutCount = 0

    /// Lets the loop end when it has nothing left to do.
    mutating func drain() { hasBegun = true }

    /// Lets the loop start no more transfers.
    ///
    /// - Parameters:
    ///   - error: The error of all transfers from now on.
    ///   - count: The number of transfers that it ends.
    /// - Returns: `false` if it was shut down already.
    mutating func shutDown(_ error: TransferError, ending count: Int) -> Bool {
        guard self.error == nil else { return false }
        hasBegun = true
        self.error = error
        cutCount = count
        return true
    }
}

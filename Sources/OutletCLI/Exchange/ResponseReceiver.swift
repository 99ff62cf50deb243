import FoundationEssentials
import Outlet

/// Receives the response of an exchange while it arrives.
///
/// Thread: any; the calls of one exchange never overlap.
protocol ResponseReceiver: Sendable {
    /// Receives the head of the response.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - request: The last request that was sent.
    /// - Returns: Whether the body is wanted; if `false`, the transfer is cancelled.
    func receive(_ head: HTTPResponse, to request: HTTPRequest) -> Bool

    /// Receives the next piece of the body.
    ///
    /// - Throws: ``OutputError`` if the piece cannot be written; the transfer then fails.
    func receive(_ piece: Data) throws(OutputError)
}

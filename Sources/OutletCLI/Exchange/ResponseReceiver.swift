import FoundationEssentials
import Outlet

/// Takes the response of an exchange while it arrives.
///
/// Thread: any; the calls of one exchange never overlap.
protocol ResponseReceiver: Sendable {
    /// Takes the head of the response.
    ///
    /// - Parameter request: The request as it went out last.
    /// - Returns: Whether the body is wanted; the transfer is ended without it otherwise.
    func receive(_ head: HTTPResponse, to request: HTTPRequest) -> Bool

    /// Takes the next piece of the body.
    ///
    /// - Throws: When the piece cannot be passed on; the transfer is ended.
    func receive(_ piece: Data) throws(OutputError)
}

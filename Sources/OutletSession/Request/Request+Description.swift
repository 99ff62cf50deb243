import FoundationEssentials
import OutletHTTP
import OutletTransport

extension Request: Equatable, Hashable {
    /// The same request.
    public static func == (a: Request, b: Request) -> Bool { a === b }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Request: CustomStringConvertible {
    /// Method and address, as last sent, secrets left out, and, once known, status.
    public var description: String {
        let (request, response) = mutable.withLock {
            ($0.history.performedRequests.last ?? $0.history.requests.last, $0.attempt.response)
        }
        guard let request, request.url != nil else { return "No request created yet." }
        let status = response.map { " (\($0.statusCode))" } ?? ""
        return "\(request)\(status)"
    }
}

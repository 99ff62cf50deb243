import FoundationEssentials
import OutletHTTP

extension Request: Equatable, Hashable {
    /// The same request.
    public static func == (a: Request, b: Request) -> Bool { a === b }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Request: CustomStringConvertible {
    /// Method and address, as last sent, and, once known, status.
    public var description: String {
        let (request, response) = mutable.withLock {
            ($0.performedRequests.last ?? $0.requests.last, $0.response)
        }
        guard let request, let url = request.url else { return "No request created yet." }
        let status = response.map { " (\($0.statusCode))" } ?? ""
        return "\(request.method) \(url.absoluteString)\(status)"
    }
}

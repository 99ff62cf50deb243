import FoundationEssentials
import OutletHTTP
import OutletTransport

extension Request: Equatable, Hashable {
    /// Whether both are the same object.
    public static func == (a: Request, b: Request) -> Bool { a === b }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Request: CustomStringConvertible {
    /// Method and URL as last sent, without secrets, and the status code once it is known.
    public var description: String {
        let (request, response) = mutable.withLock {
            ($0.history.performedRequests.last ?? $0.history.lastRequest, $0.attempt.response)
        }
        guard let request, request.url != nil else { return "No request created yet." }
        let status = response.map { " (\($0.statusCode))" } ?? ""
        return "\(request)\(status)"
    }
}

extension Request: CustomReflectable {
    /// Empty, because `dump` would show the parameters, credentials and fields of the request.
    public var customMirror: Mirror {
        Mirror(self, children: [], ancestorRepresentation: .suppressed)
    }
}

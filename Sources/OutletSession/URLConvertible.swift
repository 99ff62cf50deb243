public import FoundationEssentials

/// A type that can be converted to a URL; converted again for every attempt of a request.
public protocol URLConvertible: Sendable {
    /// Returns the URL.
    ///
    /// - Throws: ``SessionError/invalidURL(url:)`` by convention. The request fails with a
    ///   ``SessionError`` as it is, or with any other error inside
    ///   ``SessionError/createURLRequestFailed(error:)``.
    ///
    /// Thread: the session's request queue, or the thread that makes or starts the request.
    func asURL() throws -> URL
}

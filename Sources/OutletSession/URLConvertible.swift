public import FoundationEssentials

/// Something that is, or can become, a URL.
public protocol URLConvertible: Sendable {
    /// The URL.
    ///
    /// - Throws: ``SessionError/invalidURL(url:)``, or an error of the type's own.
    func asURL() throws -> URL
}

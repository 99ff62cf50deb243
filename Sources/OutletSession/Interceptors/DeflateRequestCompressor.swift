public import FoundationEssentials
import OutletCompression
public import OutletHTTP
import OutletTransport

/// Compresses bodies in memory with `deflate`, and says so in `Content-Encoding`.
///
/// Servers need not understand it: use it with those that are known to. Bodies that are files or
/// streams go out as they are.
public struct DeflateRequestCompressor: RequestInterceptor {
    /// What happens to a request that has a `Content-Encoding` already.
    public enum DuplicateHeaderBehavior: Sendable {
        /// It fails with ``DuplicateHeaderError``.
        case error
        /// It is compressed, and the field replaced.
        case replace
        /// It is sent as it is.
        case skip
    }

    /// A request had a `Content-Encoding` already.
    public struct DuplicateHeaderError: Error, CustomStringConvertible {
        /// What was found, and what to do.
        public var description: String {
            "the request has a Content-Encoding already: remove it, or let the compressor replace or skip"
        }
    }

    /// What happens to a request that has a `Content-Encoding` already.
    public let duplicateHeaderBehavior: DuplicateHeaderBehavior
    /// Whether a body is worth compressing.
    public let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    /// Makes a compressor.
    ///
    /// - Parameters:
    ///   - duplicateHeaderBehavior: What happens to a request that has a `Content-Encoding`.
    ///   - shouldCompressBodyData: Whether a body is worth compressing; all are by default.
    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompressBodyData = shouldCompressBodyData
    }

    /// Answers with the compressed request.
    public func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        completion(Result { try compressed(request) })
    }

    private func compressed(_ request: HTTPRequest) throws -> HTTPRequest {
        guard let body = request.httpBody, shouldCompressBodyData(body) else { return request }
        if request.headers["Content-Encoding"] != nil {
            switch duplicateHeaderBehavior {
            case .error: throw DuplicateHeaderError()
            case .replace: break
            case .skip: return request
            }
        }
        var compressed = request
        compressed.httpBody = try Deflate.zlib(body)
        compressed.headers.update(.contentEncoding("deflate"))
        // It named the length of what was there before.
        compressed.headers.remove(name: "Content-Length")
        return compressed
    }
}

extension RequestInterceptor where Self == DeflateRequestCompressor {
    /// Compresses all bodies; a request with a `Content-Encoding` fails.
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    /// Compresses those bodies that are worth it.
    public static func deflateCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior,
            shouldCompressBodyData: shouldCompressBodyData)
    }
}

public import FoundationEssentials
import OutletCompression
public import OutletHTTP
import OutletTransport

/// Compresses bodies in memory with `deflate`, and sets `Content-Encoding`.
///
/// HTTP does not require servers to support it: use it only for servers that do. Bodies that are
/// files or streams are sent unchanged.
public struct DeflateRequestCompressor: RequestInterceptor {
    /// How to treat a request that already has a `Content-Encoding`.
    public enum DuplicateHeaderBehavior: Sendable {
        /// The request fails with ``DuplicateHeaderError``.
        case error
        /// The body is compressed, and the field is replaced.
        case replace
        /// The request is sent unchanged.
        case skip
    }

    /// The error of a request that already has a `Content-Encoding`.
    public struct DuplicateHeaderError: Error, CustomStringConvertible {
        /// The reason, and what to do.
        public var description: String {
            "the request has a Content-Encoding already: remove it, or let the compressor replace or skip"
        }
    }

    /// How to treat a request that already has a `Content-Encoding`.
    public let duplicateHeaderBehavior: DuplicateHeaderBehavior
    /// Returns whether to compress a body.
    ///
    /// Thread: as for ``RequestAdapter/adapt(_:for:completion:)``.
    public let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    /// Makes a compressor.
    ///
    /// - Parameters:
    ///   - duplicateHeaderBehavior: How to treat a request that already has a `Content-Encoding`;
    ///     it fails by default.
    ///   - shouldCompressBodyData: Returns whether to compress a body; all bodies by default. Called
    ///     on the thread of ``adapt(_:for:completion:)``.
    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompressBodyData = shouldCompressBodyData
    }

    /// Passes the request with a compressed body to `completion`, before it returns.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - session: The session of the request.
    ///   - completion: Receives the adapted request or the error, once.
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
        // It is the length of the uncompressed body.
        compressed.headers.remove(name: "Content-Length")
        return compressed
    }
}

extension RequestInterceptor where Self == DeflateRequestCompressor {
    /// A compressor for all bodies; a request that already has a `Content-Encoding` fails.
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    /// Makes a compressor.
    ///
    /// - Parameters:
    ///   - duplicateHeaderBehavior: How to treat a request that already has a `Content-Encoding`;
    ///     it fails by default.
    ///   - shouldCompressBodyData: Returns whether to compress a body; all bodies by default.
    public static func deflateCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior,
            shouldCompressBodyData: shouldCompressBodyData)
    }
}

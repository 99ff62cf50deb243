public import FoundationEssentials
import OutletFiles
public import OutletHTTP

/// Serializes a response whose body is in a file.
public protocol DownloadResponseSerializerProtocol<SerializedObject>: Sendable {
    /// The type of the value.
    associatedtype SerializedObject: Sendable

    /// Returns the value of a response.
    ///
    /// Called for failed requests too.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - fileURL: The downloaded file; `nil` when there is none.
    ///   - error: Why the request has failed; throw it again first. `nil` if it has not.
    /// - Throws: A ``SessionError``, which becomes the response's error as it is, or any other
    ///   error, which is wrapped in
    ///   ``SessionError/ResponseSerializationFailureReason/customSerializationFailed(error:)``.
    ///
    /// Thread: the request's finishing queue (see ``Request``).
    func serializeDownload(
        request: HTTPRequest?, response: HTTPResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject

    /// Whether serializing may block its thread for long.
    ///
    /// It then runs on a thread that no other request waits for. `false` by default.
    var mayBlock: Bool { get }
}

extension DownloadResponseSerializerProtocol {
    /// `false`.
    public var mayBlock: Bool { false }
}

extension DownloadResponseSerializerProtocol where Self: DataResponseSerializerProtocol {
    /// Reads the whole file into memory, and serializes its content.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - fileURL: The downloaded file; `nil` when there is none.
    ///   - error: Why the request has failed; throw it again first. `nil` if it has not.
    /// - Throws: `error` if there is one; ``SessionError/responseSerializationFailed(reason:)``
    ///   with `inputFileNil` or `inputFileReadFailed`; what
    ///   ``DataResponseSerializerProtocol/serialize(request:response:data:error:)`` throws.
    public func serializeDownload(
        request: HTTPRequest?, response: HTTPResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject {
        if let error { throw error }
        guard let fileURL else {
            throw SessionError.responseSerializationFailed(reason: .inputFileNil)
        }
        let data: Data
        do {
            data = try Data(contentOf: fileURL)
        } catch {
            throw SessionError.responseSerializationFailed(
                reason: .inputFileReadFailed(at: fileURL))
        }
        return try serialize(request: request, response: response, data: data, error: nil)
    }
}

/// Returns the URL of the file; does not read the file.
public struct URLResponseSerializer: DownloadResponseSerializerProtocol {
    /// Makes a serializer.
    public init() {}

    /// Returns the file's URL.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - fileURL: The downloaded file; `nil` when there is none.
    ///   - error: Why the request has failed; throw it again first. `nil` if it has not.
    /// - Throws: `error` if there is one; ``SessionError/responseSerializationFailed(reason:)``
    ///   with `inputFileNil` when there is no file.
    public func serializeDownload(
        request: HTTPRequest?, response: HTTPResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> URL {
        if let error { throw error }
        guard let fileURL else {
            throw SessionError.responseSerializationFailed(reason: .inputFileNil)
        }
        return fileURL
    }
}

extension DownloadResponseSerializerProtocol where Self == URLResponseSerializer {
    /// Returns the URL of the file; does not read the file.
    public static var url: URLResponseSerializer { URLResponseSerializer() }
}

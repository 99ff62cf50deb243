public import FoundationEssentials
import OutletFiles
public import OutletHTTP

/// Makes a value of a response whose body is in a file.
public protocol DownloadResponseSerializerProtocol<SerializedObject>: Sendable {
    /// What is made.
    associatedtype SerializedObject: Sendable

    /// Makes the value.
    ///
    /// - Parameters:
    ///   - request: The last request that was sent.
    ///   - response: The head of the response, if one arrived.
    ///   - fileURL: Where the body is; `nil` when there is none.
    ///   - error: Why the request failed already; to be thrown again first.
    /// - Throws: ``SessionError``, or any error; it is wrapped in
    ///   ``SessionError/ResponseSerializationFailureReason/customSerializationFailed(error:)``.
    ///
    /// Thread: where the request is being finished.
    func serializeDownload(
        request: HTTPRequest?, response: HTTPResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject
}

extension DownloadResponseSerializerProtocol where Self: DataResponseSerializerProtocol {
    /// Reads the whole file into memory, and serializes that.
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

/// Hands over where the file is; its content is not read.
public struct URLResponseSerializer: DownloadResponseSerializerProtocol {
    /// Makes a serializer.
    public init() {}

    /// Returns the file's URL.
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
    /// Hands over where the file is.
    public static var url: URLResponseSerializer { URLResponseSerializer() }
}

public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// A form of several parts, each from memory, a file or a stream (RFC 7578).
///
/// ```swift
/// let form = MultipartFormData()
/// form.append(Data("Ada".utf8), withName: "author")
/// form.append(URL(filePath: "/srv/notes.pdf"), withName: "notes")
/// ```
///
/// The first error of an `append` is kept and thrown when the form is encoded; what is appended
/// after it has no effect. Any thread may append; what is encoded is what was there by then.
open class MultipartFormData: @unchecked Sendable {
    // because all that changes is in `state`, behind its lock.

    /// Up to how many bytes of parts a form is encoded in memory: 10 000 000.
    public static let encodingMemoryThreshold: UInt64 = 10_000_000

    /// The value of the body's `Content-Type`, boundary included.
    open var contentType: String { delimiters.contentType }

    /// How many bytes the parts have, heads and boundaries not counted.
    ///
    /// A stream of unknown length counts as 0.
    public var contentLength: UInt64 {
        state.withLock { $0.parts.reduce(0) { $0 + ($1.length ?? 0) } }
    }

    /// The text between the parts: 35 characters, unless another was given.
    public var boundary: String { delimiters.value }

    private struct State: Sendable {
        var parts: [MultipartPart] = []
        var error: SessionError?
    }

    private let state: Lock<State>
    private let fileManager: FileManager
    private let delimiters: MultipartBoundary

    /// Makes a form without parts.
    ///
    /// - Parameters:
    ///   - fileManager: Tells which files are there and how large they are.
    ///   - boundary: The text between the parts; random if `nil`. One that RFC 2046 does not
    ///     allow is replaced, and thrown as an error when the form is encoded.
    public init(fileManager: FileManager = .default, boundary: String? = nil) {
        self.fileManager = fileManager
        var initial = State()
        if let boundary, MultipartBoundary(boundary) == nil {
            initial.error = .multipartEncodingFailed(reason: .boundaryInvalid(boundary))
        }
        var generator = SystemRandomNumberGenerator()
        delimiters =
            boundary.flatMap { MultipartBoundary($0) } ?? MultipartBoundary(using: &generator)
        state = Lock(initial)
    }

    // MARK: Parts

    /// Adds a part with those bytes.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - name: The field's name.
    ///   - fileName: The name of the file, if it is to be taken for one.
    ///   - mimeType: The part's `Content-Type`.
    public func append(
        _ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil
    ) {
        append(
            .data(data),
            MultipartHead.fields(name: name, fileName: fileName, mimeType: mimeType))
    }

    /// Adds a file under its own name, with the type that its extension stands for.
    ///
    /// The name must have an extension; types come from a table of common ones, then
    /// `/etc/mime.types`, else the part is `application/octet-stream`.
    public func append(_ fileURL: URL, withName name: String) {
        let fileName = fileURL.lastPathComponent
        let pathExtension = fileURL.pathExtension
        guard !fileName.isEmpty, !pathExtension.isEmpty else {
            fail(.bodyPartFilenameInvalid(in: fileURL))
            return
        }
        append(
            fileURL, withName: name, fileName: fileName,
            mimeType: MediaTypes.type(forPathExtension: pathExtension))
    }

    /// Adds a file, which is read while the form is sent.
    ///
    /// - Parameters:
    ///   - fileURL: The file; it must be there, and keep its size until it was sent.
    ///   - name: The field's name.
    ///   - fileName: The file name in `Content-Disposition`.
    ///   - mimeType: The part's `Content-Type`.
    public func append(_ fileURL: URL, withName name: String, fileName: String, mimeType: String) {
        let headers = MultipartHead.fields(name: name, fileName: fileName, mimeType: mimeType)
        switch size(of: fileURL) {
        case .success(let length):
            append(.file(path: fileURL.path, url: fileURL, length: length), headers)
        case .failure(let reason): fail(reason.value)
        }
    }

    /// Adds a stream of so many bytes.
    ///
    /// - Parameters:
    ///   - stream: The bytes; rewound when the form is encoded or sent again. It serves one
    ///     encoding at a time.
    ///   - length: How many bytes it gives; another number is an error when the form is encoded.
    ///   - name: The field's name.
    ///   - fileName: The file name in `Content-Disposition`.
    ///   - mimeType: The part's `Content-Type`.
    public func append(
        _ stream: any BodyStream, withLength length: UInt64, name: String, fileName: String,
        mimeType: String
    ) {
        append(
            stream, withLength: length,
            headers: MultipartHead.fields(name: name, fileName: fileName, mimeType: mimeType))
    }

    /// Adds a stream of so many bytes, with a head of one's own.
    public func append(_ stream: any BodyStream, withLength length: UInt64, headers: HTTPHeaders) {
        append(.stream(MultipartSource(stream: stream, length: length)), headers)
    }

    /// Adds a stream that says itself how long it is, or does not know.
    ///
    /// With a stream of unknown length the body goes out chunked, without `Content-Length`.
    public func append(
        _ stream: any BodyStream, withName name: String, fileName: String? = nil,
        mimeType: String? = nil
    ) {
        let length = stream.length.map { UInt64(clamping: $0) }
        append(
            .stream(MultipartSource(stream: stream, length: length)),
            MultipartHead.fields(name: name, fileName: fileName, mimeType: mimeType))
    }

    private func append(_ source: MultipartPart.Source, _ headers: HTTPHeaders) {
        do {
            try headers.checkSyntax()
        } catch {
            fail(.bodyPartHeaderInvalid(error: error))
            return
        }
        state.withLock { state in
            guard state.error == nil else { return }
            state.parts.append(MultipartPart(headers: headers, source: source))
        }
    }

    private func fail(_ reason: SessionError.MultipartEncodingFailureReason) {
        state.withLock { state in
            state.error = state.error ?? .multipartEncodingFailed(reason: reason)
        }
    }

    // MARK: Bytes

    /// The body as a stream that reads each part when it is its turn.
    ///
    /// Nothing is held in memory but the parts that were given as data, nothing is written to
    /// disk. The stream knows its length when all parts do, and can be rewound as often as its
    /// parts can.
    ///
    /// - Throws: ``SessionError/multipartEncodingFailed(reason:)``, the first error of an append.
    public func bodyStream() throws -> any BodyStream {
        let state = self.state.withLock { $0 }
        if let error = state.error { throw error }
        return MultipartBody(boundary: delimiters, parts: state.parts)
    }

    private struct Reason: Error {
        let value: SessionError.MultipartEncodingFailureReason
        init(_ value: SessionError.MultipartEncodingFailureReason) { self.value = value }
    }

    private func size(of url: URL) -> Result<UInt64, Reason> {
        guard url.isFileURL else { return .failure(Reason(.bodyPartURLInvalid(url: url))) }
        var isDirectory = false
        guard fileManager.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
            return .failure(Reason(.bodyPartFileNotReachable(at: url)))
        }
        guard !isDirectory else { return .failure(Reason(.bodyPartFileIsDirectory(at: url))) }
        let attributes: [FileAttributeKey: Any]
        do {
            attributes = try fileManager.attributesOfItem(atPath: url.path)
        } catch {
            return .failure(
                Reason(.bodyPartFileSizeQueryFailedWithError(forURL: url, error: error)))
        }
        // A `UInt` where FoundationEssentials is linked alone, which casts to no other type; else an
        // `NSNumber`, which casts to all.
        guard attributes[.type] as? FileAttributeType == .typeRegular,
            let size = attributes[.size] as? UInt
        else {
            return .failure(Reason(.bodyPartFileSizeNotAvailable(at: url)))
        }
        guard fileManager.isReadableFile(atPath: url.path) else {
            return .failure(Reason(.bodyPartInputStreamCreationFailed(for: url)))
        }
        return .success(UInt64(size))
    }
}

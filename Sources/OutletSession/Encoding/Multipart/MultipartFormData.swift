public import FoundationEssentials
import Glibc
import OutletFiles
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
/// The first error of an `append` is kept and thrown when the form is encoded; parts appended after
/// it have no effect. `append` may be called from any thread; encoding includes the parts appended
/// so far.
open class MultipartFormData: @unchecked Sendable {
    // because all that changes is in `state`, behind its lock.

    /// Forms with fewer bytes of parts than this are encoded in memory: 10 000 000.
    public static let encodingMemoryThreshold: UInt64 = 10_000_000

    /// The value of the body's `Content-Type`, with the boundary.
    open var contentType: String { delimiters.contentType }

    /// The number of bytes in all parts, without their header fields and boundaries.
    ///
    /// A stream of unknown length counts as 0.
    public var contentLength: UInt64 {
        state.withLock { $0.parts.reduce(0) { $0.addingClamped($1.length ?? 0) } }
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
    ///   - fileManager: Checks that appended files exist and can be read.
    ///   - boundary: The text between the parts, 1 to 70 characters (RFC 2046 §5.1.1); random if
    ///     `nil`. With a boundary that is not allowed, encoding the form throws `boundaryInvalid`.
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

    /// Adds a part with the given bytes.
    ///
    /// - Parameters:
    ///   - data: The part's content.
    ///   - name: The field's name in `Content-Disposition`.
    ///   - fileName: The file name in `Content-Disposition`; left out if `nil`.
    ///   - mimeType: The part's `Content-Type`; the field is left out if `nil`.
    public func append(
        _ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil
    ) {
        append(
            .data(data),
            MultipartHead.fields(name: name, fileName: fileName, mimeType: mimeType))
    }

    /// Adds a file under its own name, with the media type of its extension.
    ///
    /// The type comes from a table of common types, then from `/etc/mime.types`; else it is
    /// `application/octet-stream`.
    ///
    /// - Parameters:
    ///   - fileURL: A readable regular file whose name has an extension; else encoding the form
    ///     throws `bodyPartFilenameInvalid` or another `bodyPart…` reason.
    ///   - name: The field's name in `Content-Disposition`.
    ///
    /// Thread: any; blocks while the file's size is queried.
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

    /// Adds a file, which is read while the form is encoded or sent.
    ///
    /// - Parameters:
    ///   - fileURL: A readable regular file; its size must not change until it was sent.
    ///   - name: The field's name in `Content-Disposition`.
    ///   - fileName: The file name in `Content-Disposition`.
    ///   - mimeType: The part's `Content-Type`.
    ///
    /// Thread: any; blocks while the file's size is queried.
    public func append(_ fileURL: URL, withName name: String, fileName: String, mimeType: String) {
        let headers = MultipartHead.fields(name: name, fileName: fileName, mimeType: mimeType)
        switch size(of: fileURL) {
        case .success(let length):
            append(.file(path: fileURL.path, url: fileURL, length: length), headers)
        case .failure(let reason): fail(reason.value)
        }
    }

    /// Adds a stream of a given length.
    ///
    /// - Parameters:
    ///   - stream: The bytes; rewound when the form is encoded or sent again. Do not encode the
    ///     form twice at the same time.
    ///   - length: The number of bytes; encoding throws `inputStreamReadFailed` if the stream gives
    ///     more or fewer.
    ///   - name: The field's name in `Content-Disposition`.
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

    /// Adds a stream of a given length, with custom header fields.
    ///
    /// - Parameters:
    ///   - stream: The bytes; rewound when the form is encoded or sent again.
    ///   - length: The number of bytes; encoding throws `inputStreamReadFailed` if the stream gives
    ///     more or fewer.
    ///   - headers: All fields of the part, `Content-Disposition` included; encoding throws
    ///     `bodyPartHeaderInvalid` if one is not valid.
    public func append(_ stream: any BodyStream, withLength length: UInt64, headers: HTTPHeaders) {
        append(.stream(MultipartSource(stream: stream, length: length)), headers)
    }

    /// Adds a stream that declares its own length, or none.
    ///
    /// With a stream of unknown length, the body is sent chunked, without `Content-Length`.
    ///
    /// - Parameters:
    ///   - stream: The bytes; rewound when the form is encoded or sent again.
    ///   - name: The field's name in `Content-Disposition`.
    ///   - fileName: The file name in `Content-Disposition`; left out if `nil`.
    ///   - mimeType: The part's `Content-Type`; the field is left out if `nil`.
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

    /// Returns the body as a stream that reads the parts one after the other.
    ///
    /// Holds only the parts given as data in memory, and writes nothing to disk. The stream's
    /// length is known if those of all parts are; it can be rewound if all streams among the parts
    /// can.
    ///
    /// - Throws: ``SessionError/multipartEncodingFailed(reason:)``, the first error of an `append`
    ///   or of the boundary.
    public func bodyStream() throws -> any BodyStream {
        let state = self.state.withLock { $0 }
        if let error = state.error { throw error }
        return MultipartBody(boundary: delimiters, parts: state.parts)
    }

    private struct Reason: Error {
        let value: SessionError.MultipartEncodingFailureReason
        init(_ value: SessionError.MultipartEncodingFailureReason) { self.value = value }
    }

    /// The number of bytes of a file; `nil` if only reading it tells.
    private func size(of url: URL) -> Result<UInt64?, Reason> {
        guard url.isFileURL else { return .failure(Reason(.bodyPartURLInvalid(url: url))) }
        var isDirectory = false
        guard fileManager.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
            return .failure(Reason(.bodyPartFileNotReachable(at: url)))
        }
        guard !isDirectory else { return .failure(Reason(.bodyPartFileIsDirectory(at: url))) }
        // Unlike `attributesOfItem`, follows a symbolic link.
        var status = stat()
        guard stat(url.path, &status) == 0 else {
            return .failure(
                Reason(
                    .bodyPartFileSizeQueryFailedWithError(
                        forURL: url, error: FileAccessError("stat", path: url.path))))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return .failure(Reason(.bodyPartFileSizeNotAvailable(at: url)))
        }
        guard fileManager.isReadableFile(atPath: url.path) else {
            return .failure(Reason(.bodyPartInputStreamCreationFailed(for: url)))
        }
        let length = FileLength.of(url.path, size: status.st_size)
        return .success(length.map { UInt64(clamping: $0) })
    }
}

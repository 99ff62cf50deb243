public import FoundationEssentials
public import OutletHTTP
import OutletSession

extension HTTPTask {
    /// A multipart form as a value, encoded when the request is sent.
    ///
    /// ```swift
    /// .uploadMultipartFormData([
    ///     MultipartFormBodyPart(provider: .data(Data("Ada".utf8)), name: "author"),
    ///     MultipartFormBodyPart(provider: .file(URL(filePath: "/srv/notes.pdf")), name: "notes"),
    /// ])
    /// ```
    ///
    /// A different type from the session's `MultipartFormData`, a class to which parts are
    /// appended. A file that uses this one by its short name needs a `typealias`.
    public struct MultipartFormData: Sendable {
        /// The source of a part's bytes.
        public enum FormDataProvider: Sendable {
            /// Bytes in memory.
            case data(Data)
            /// A file, read while the form is sent.
            case file(URL)
            /// A stream and its length in bytes; rewound when the form is sent again.
            case stream(any BodyStream, UInt64)
        }

        /// Finds the files of parts and their sizes.
        public let fileManager: FileManager
        /// The boundary between the parts; random for each request if `nil`.
        public let boundary: String?
        /// The parts, in their order.
        public let parts: [MultipartFormBodyPart]

        /// Makes a form.
        ///
        /// - Parameters:
        ///   - fileManager: Finds the files of parts and their sizes.
        ///   - boundary: The boundary between the parts, which must not occur in them; random for
        ///     each request if `nil`.
        ///   - parts: The parts, in their order; a request with none fails with
        ///     ``ProviderError/parameterEncoding(_:)``.
        public init(
            fileManager: FileManager = .default, boundary: String? = nil,
            parts: [MultipartFormBodyPart]
        ) {
            self.fileManager = fileManager
            self.boundary = boundary
            self.parts = parts
        }
    }
}

/// A part of a target's multipart form.
public struct MultipartFormBodyPart: Sendable, Hashable {
    /// The source of the part's bytes.
    public let provider: HTTPTask.MultipartFormData.FormDataProvider
    /// The form field's name.
    public let name: String
    /// The file name in `Content-Disposition`; if `nil`, a file's own name, and none for other
    /// parts.
    public let fileName: String?
    /// The part's `Content-Type`; if `nil`, derived from a file's extension, and none for other
    /// parts.
    public let mimeType: String?

    /// Makes a part.
    ///
    /// - Parameters:
    ///   - provider: The source of the part's bytes.
    ///   - name: The form field's name.
    ///   - fileName: The file name in `Content-Disposition`; if `nil`, a file's own name, and none
    ///     for other parts.
    ///   - mimeType: The part's `Content-Type`; if `nil`, derived from a file's extension, and none
    ///     for other parts.
    public init(
        provider: HTTPTask.MultipartFormData.FormDataProvider, name: String,
        fileName: String? = nil, mimeType: String? = nil
    ) {
        self.provider = provider
        self.name = name
        self.fileName = fileName
        self.mimeType = mimeType
    }
}

extension HTTPTask.MultipartFormData: ExpressibleByArrayLiteral {
    /// Makes a form of parts, with a random boundary.
    public init(arrayLiteral elements: MultipartFormBodyPart...) {
        self.init(parts: elements)
    }
}

extension HTTPTask.MultipartFormData: Hashable {
    /// Compares boundary and parts.
    public static func == (a: Self, b: Self) -> Bool {
        a.boundary == b.boundary && a.parts == b.parts
    }

    /// Hashes boundary and parts.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(boundary)
        hasher.combine(parts)
    }
}

extension HTTPTask.MultipartFormData.FormDataProvider: Hashable {
    private enum Identity: Hashable {
        case data(Data)
        case file(URL)
        case stream(ObjectIdentifier, UInt64)
    }

    private var identity: Identity {
        switch self {
        case .data(let data): .data(data)
        case .file(let file): .file(file)
        case .stream(let stream, let length): .stream(ObjectIdentifier(stream), length)
        }
    }

    /// Compares bytes, file URLs, or the identity and length of streams; reads nothing.
    public static func == (a: Self, b: Self) -> Bool { a.identity == b.identity }

    /// Hashes bytes, file URL, or the identity and length of a stream.
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

/// A multipart form cannot be sent: it has no parts, or the method does not allow one.
public struct NoMultipartUpload: Error, CustomStringConvertible {
    let method: HTTPMethod

    /// What is wrong, and what to do.
    public var description: String {
        method.supportsMultipart
            ? "the form has no parts: give it one, or use .requestPlain"
            : "\(method) takes no form of several parts: use POST, PUT or PATCH"
    }
}

extension HTTPTask.MultipartFormData {
    /// Returns the form that a session sends.
    ///
    /// - Throws: ``ProviderError/parameterEncoding(_:)`` with ``NoMultipartUpload``.
    func form(for method: HTTPMethod) throws(ProviderError) -> OutletSession.MultipartFormData {
        guard !parts.isEmpty, method.supportsMultipart else {
            throw ProviderError.parameterEncoding(NoMultipartUpload(method: method))
        }
        let form = OutletSession.MultipartFormData(fileManager: fileManager, boundary: boundary)
        for part in parts { part.append(to: form) }
        return form
    }
}

extension MultipartFormBodyPart {
    fileprivate func append(to form: MultipartFormData) {
        switch provider {
        case .data(let data):
            form.append(data, withName: name, fileName: fileName, mimeType: mimeType)
        case .file(let file) where fileName == nil && mimeType == nil:
            form.append(file, withName: name)
        case .file(let file):
            form.append(
                file, withName: name, fileName: fileName ?? file.lastPathComponent,
                mimeType: mimeType ?? MediaTypes.type(forPathExtension: file.pathExtension))
        case .stream(let stream, let length):
            form.append(
                stream, withLength: length,
                headers: MultipartHead.fields(name: name, fileName: fileName, mimeType: mimeType))
        }
    }
}

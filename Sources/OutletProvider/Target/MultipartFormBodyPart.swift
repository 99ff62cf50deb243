public import FoundationEssentials
public import OutletHTTP
import OutletSession

extension HTTPTask {
    /// A form of several parts, as a value: what a target sends, made into bytes when it is sent.
    ///
    /// ```swift
    /// .uploadMultipartFormData([
    ///     MultipartFormBodyPart(provider: .data(Data("Ada".utf8)), name: "author"),
    ///     MultipartFormBodyPart(provider: .file(URL(filePath: "/srv/notes.pdf")), name: "notes"),
    /// ])
    /// ```
    ///
    /// Not to be confused with the session's `MultipartFormData`, a class that parts are appended
    /// to; code that means this one by that name says so with a `typealias`.
    public struct MultipartFormData: Sendable {
        /// Where a part's bytes come from.
        public enum FormDataProvider: Sendable {
            /// Those bytes.
            case data(Data)
            /// A file, read while the form is sent.
            case file(URL)
            /// A stream of so many bytes; taken back to its start when the form is sent again.
            case stream(any BodyStream, UInt64)
        }

        /// Tells which files are there and how large they are.
        public let fileManager: FileManager
        /// The text between the parts; random for each request if `nil`.
        public let boundary: String?
        /// The parts, in their order.
        public let parts: [MultipartFormBodyPart]

        /// Makes a form.
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

/// A part of a target's form.
public struct MultipartFormBodyPart: Sendable, Hashable {
    /// Where the part's bytes come from.
    public let provider: HTTPTask.MultipartFormData.FormDataProvider
    /// The field's name.
    public let name: String
    /// The file name in `Content-Disposition`; the file's own if `nil`.
    public let fileName: String?
    /// The part's `Content-Type`; what a file's extension stands for if `nil`.
    public let mimeType: String?

    /// Makes a part.
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
    /// Makes a form of parts.
    public init(arrayLiteral elements: MultipartFormBodyPart...) {
        self.init(parts: elements)
    }
}

extension HTTPTask.MultipartFormData: Hashable {
    /// Whether both have the same boundary and the same parts.
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

    /// Whether both give the same bytes, as far as that can be told without reading them.
    public static func == (a: Self, b: Self) -> Bool { a.identity == b.identity }

    /// Hashes what the bytes are known by.
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

/// A form that cannot be sent: it has no parts, or the method takes no form.
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
    /// The form that a session sends.
    ///
    /// - Throws: ``ProviderError/parameterEncoding(_:)``.
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

public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// Serializes a response whose body is in memory.
public protocol DataResponseSerializerProtocol<SerializedObject>: Sendable {
    /// The type of the value.
    associatedtype SerializedObject: Sendable

    /// Returns the value of a response.
    ///
    /// Called for failed requests too.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - data: The body; `nil` when no byte arrived.
    ///   - error: Why the request has failed; throw it again first. `nil` if it has not.
    /// - Throws: A ``SessionError``, which becomes the response's error as it is, or any other
    ///   error, which is wrapped in
    ///   ``SessionError/ResponseSerializationFailureReason/customSerializationFailed(error:)``.
    ///
    /// Thread: the request's finishing queue (see ``Request``); downloads call this too, with the
    /// file's content.
    func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject

    /// Whether serializing may block its thread for long.
    ///
    /// It then runs on a thread that no other request waits for. `false` by default.
    var mayBlock: Bool { get }
}

extension DataResponseSerializerProtocol {
    /// `false`.
    public var mayBlock: Bool { false }
}

/// Changes a body before it is serialized; not called for empty bodies.
public protocol DataPreprocessor: Sendable {
    /// Returns the body to serialize.
    ///
    /// - Parameter data: The body as received, not empty; in a stream, one piece of it.
    /// - Throws: Any error; the response fails with it, wrapped as an error of the serializer.
    ///
    /// Thread: the serializer's.
    func preprocess(_ data: Data) throws -> Data
}

/// Leaves the body as it is.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// Makes a preprocessor.
    public init() {}

    /// Returns `data`; never throws.
    ///
    /// - Parameter data: The body as received, not empty; in a stream, one piece of it.
    public func preprocess(_ data: Data) throws -> Data { data }
}

/// Removes the prefix `)]}',` and line feed, which some services put before JSON.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    /// Makes a preprocessor.
    public init() {}

    /// Returns `data` without the prefix, or unchanged if it has none; never throws.
    ///
    /// - Parameter data: The body as received, not empty; in a stream, one piece of it.
    public func preprocess(_ data: Data) throws -> Data {
        let prefix = Data(")]}',\n".utf8)
        return data.starts(with: prefix) ? data.dropFirst(prefix.count) : data
    }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// Leaves the body as it is.
    public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// Removes the prefix `)]}',` and line feed, which some services put before JSON.
    public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}

/// A serializer with a preprocessor and rules for empty bodies; for data requests and downloads.
public protocol ResponseSerializer<SerializedObject>:
    DataResponseSerializerProtocol, DownloadResponseSerializerProtocol
{
    /// Changes the body before it is serialized.
    var dataPreprocessor: any DataPreprocessor { get }
    /// Methods whose responses may have an empty body; `HEAD` by default.
    var emptyRequestMethods: Set<HTTPMethod> { get }
    /// Status codes whose responses may have an empty body; 204 and 205 by default.
    var emptyResponseCodes: Set<Int> { get }
}

extension ResponseSerializer {
    /// `false`.
    public var mayBlock: Bool { false }

    /// Leaves the body as it is.
    public static var defaultDataPreprocessor: any DataPreprocessor { PassthroughPreprocessor() }
    /// `HEAD`.
    public static var defaultEmptyRequestMethods: Set<HTTPMethod> { EmptyResponseRules.methods }
    /// 204 and 205.
    public static var defaultEmptyResponseCodes: Set<Int> { EmptyResponseRules.codes }

    /// Leaves the body as it is.
    public var dataPreprocessor: any DataPreprocessor { Self.defaultDataPreprocessor }
    /// `HEAD`.
    public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }
    /// 204 and 205.
    public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

    /// Whether the request's method allows an empty body.
    ///
    /// - Parameter request: The last request; `nil` if none was made.
    /// - Returns: Whether ``emptyRequestMethods`` contains the method; `nil` without a request.
    public func requestAllowsEmptyResponseData(_ request: HTTPRequest?) -> Bool? {
        request.map { emptyRequestMethods.contains($0.method) }
    }

    /// Whether the response's status code allows an empty body.
    ///
    /// - Parameter response: The head of the response; `nil` without one.
    /// - Returns: Whether ``emptyResponseCodes`` contains the code; `nil` without a response.
    public func responseAllowsEmptyResponseData(_ response: HTTPResponse?) -> Bool? {
        response.map { emptyResponseCodes.contains($0.statusCode) }
    }

    /// Whether the request's method or the response's status code allows an empty body.
    ///
    /// - Parameters:
    ///   - request: The last request; `nil` if none was made.
    ///   - response: The head of the response; `nil` without one.
    public func emptyResponseAllowed(
        forRequest request: HTTPRequest?, response: HTTPResponse?
    ) -> Bool {
        requestAllowsEmptyResponseData(request) == true
            || responseAllowsEmptyResponseData(response) == true
    }

    /// Returns the body after the preprocessor; `nil` if it is empty and may be.
    func body(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> Data? {
        if let error { throw error }
        guard let data, !data.isEmpty else {
            guard emptyResponseAllowed(forRequest: request, response: response) else {
                throw SessionError.responseSerializationFailed(reason: .inputDataNilOrZeroLength)
            }
            return nil
        }
        return try dataPreprocessor.preprocess(data)
    }
}

/// The default rules for empty bodies, allocated once.
enum EmptyResponseRules {
    static let methods: Set<HTTPMethod> = [.head]
    static let codes: Set<Int> = [204, 205]
}

/// Returns the body unchanged.
public final class DataResponseSerializer: ResponseSerializer {
    /// Changes the body before it is serialized.
    public let dataPreprocessor: any DataPreprocessor
    /// Status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>
    /// Methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// Whether serializing calls no user code, and so takes microseconds at most.
    let isQuick: Bool

    /// Makes a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: Changes the body first; by default the body is kept as it is.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    public init(
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
        self.isQuick = type(of: dataPreprocessor) == PassthroughPreprocessor.self
    }

    /// Returns the body; empty data if the body is empty and may be.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - data: The body; `nil` when no byte arrived.
    ///   - error: Why the request has failed; throw it again first. `nil` if it has not.
    /// - Throws: `error` if there is one; ``SessionError/responseSerializationFailed(reason:)``
    ///   with `inputDataNilOrZeroLength` when the body is empty and may not be; what the
    ///   preprocessor throws.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> Data {
        if isQuick, error == nil, let data, !data.isEmpty { return data }
        return try body(request: request, response: response, data: data, error: error) ?? Data()
    }
}

/// Decodes the body as text.
public final class StringResponseSerializer: ResponseSerializer {
    /// Changes the body before it is serialized.
    public let dataPreprocessor: any DataPreprocessor
    /// The charset; if `nil`, the one in `Content-Type`, else ISO 8859-1.
    public let encoding: String.Encoding?
    /// Status codes whose responses may have an empty body.
    public let emptyResponseCodes: Set<Int>
    /// Methods whose responses may have an empty body.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// Makes a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: Changes the body first; by default the body is kept as it is.
    ///   - encoding: The charset; if `nil`, the one in `Content-Type`, else ISO 8859-1.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    public init(
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.encoding = encoding
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
    }

    /// Returns the text; an empty string if the body is empty and may be.
    ///
    /// - Parameters:
    ///   - request: The last request, as adapted; `nil` when none could be made.
    ///   - response: The head of the response, if one arrived.
    ///   - data: The body; `nil` when no byte arrived.
    ///   - error: Why the request has failed; throw it again first. `nil` if it has not.
    /// - Throws: `error` if there is one; ``SessionError/responseSerializationFailed(reason:)``
    ///   with `inputDataNilOrZeroLength` when the body is empty and may not be, or with
    ///   `stringSerializationFailed` when it is not text in the charset; what the preprocessor
    ///   throws.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> String {
        let body = try body(request: request, response: response, data: data, error: error)
        guard let body else { return "" }
        let encoding = encoding ?? response?.textEncoding ?? .isoLatin1
        // Foundation drops the bytes after the last whole unit.
        guard body.count.isMultiple(of: encoding.unitSize),
            let text = String(data: body, encoding: encoding)
        else {
            throw SessionError.responseSerializationFailed(
                reason: .stringSerializationFailed(encoding: encoding))
        }
        return text
    }
}

extension String.Encoding {
    /// The size of a code unit in bytes.
    fileprivate var unitSize: Int {
        switch self {
        case .utf16, .utf16BigEndian, .utf16LittleEndian: 2
        case .utf32, .utf32BigEndian, .utf32LittleEndian: 4
        default: 1
        }
    }
}

extension HTTPResponse {
    /// The charset in `Content-Type` (RFC 9110 §8.3.2); `nil` without one, or if it is not
    /// supported.
    public var textEncoding: String.Encoding? {
        let parameters = headers.value(for: "Content-Type")?.listItems(separatedBy: ";").dropFirst()
        let charset = parameters?.lazy
            .map { item in
                var scanner = ByteScanner(item)
                return scanner.readParameter()
            }.first { $0.name.equalsIgnoringCase("charset") }?.value
        switch charset?.lowercasedASCII {
        case "utf-8", "utf8": return .utf8
        case "iso-8859-1", "latin1": return .isoLatin1
        case "us-ascii", "ascii": return .ascii
        case "utf-16", "ucs-2", "iso-10646-ucs-2": return .utf16
        case "utf-16be": return .utf16BigEndian
        case "utf-16le": return .utf16LittleEndian
        case "utf-32": return .utf32
        case "utf-32be": return .utf32BigEndian
        case "utf-32le": return .utf32LittleEndian
        default: return nil
        }
    }
}

public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// Makes a value of a response whose body is in memory.
public protocol DataResponseSerializerProtocol<SerializedObject>: Sendable {
    /// What is made.
    associatedtype SerializedObject: Sendable

    /// Makes the value.
    ///
    /// - Parameters:
    ///   - request: The last request that was sent.
    ///   - response: The head of the response, if one arrived.
    ///   - data: The body; `nil` when no byte arrived.
    ///   - error: Why the request failed already; to be thrown again first.
    /// - Throws: ``SessionError``, or any error; it is wrapped in
    ///   ``SessionError/ResponseSerializationFailureReason/customSerializationFailed(error:)``.
    ///
    /// Thread: where the request is being finished.
    func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject
}

/// Changes a body before it is serialized; not asked about empty ones.
public protocol DataPreprocessor: Sendable {
    /// Returns the body to serialize.
    func preprocess(_ data: Data) throws -> Data
}

/// Leaves the body as it is.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// Makes one.
    public init() {}

    /// Returns `data`.
    public func preprocess(_ data: Data) throws -> Data { data }
}

/// Takes off the prefix `)]}',` and line feed, which some services put before JSON.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    /// Makes one.
    public init() {}

    /// Returns `data` without the prefix.
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
    /// Takes off the prefix that some services put before JSON.
    public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}

/// A serializer that prepares the body, and knows when an empty one is all right.
public protocol ResponseSerializer<SerializedObject>:
    DataResponseSerializerProtocol, DownloadResponseSerializerProtocol
{
    /// Changes the body first.
    var dataPreprocessor: any DataPreprocessor { get }
    /// Methods whose responses may be empty; `HEAD` by default.
    var emptyRequestMethods: Set<HTTPMethod> { get }
    /// Status codes whose responses may be empty; 204 and 205 by default.
    var emptyResponseCodes: Set<Int> { get }
}

extension ResponseSerializer {
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

    /// Whether the request's method allows an empty body; `nil` without a request.
    public func requestAllowsEmptyResponseData(_ request: HTTPRequest?) -> Bool? {
        request.map { emptyRequestMethods.contains($0.method) }
    }

    /// Whether the status code allows an empty body; `nil` without a response.
    public func responseAllowsEmptyResponseData(_ response: HTTPResponse?) -> Bool? {
        response.map { emptyResponseCodes.contains($0.statusCode) }
    }

    /// Whether method or status code allow an empty body.
    public func emptyResponseAllowed(
        forRequest request: HTTPRequest?, response: HTTPResponse?
    ) -> Bool {
        requestAllowsEmptyResponseData(request) == true
            || responseAllowsEmptyResponseData(response) == true
    }

    /// The prepared body; `nil` when it is empty, and that is allowed.
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

/// The usual rules for empty bodies, made once.
enum EmptyResponseRules {
    static let methods: Set<HTTPMethod> = [.head]
    static let codes: Set<Int> = [204, 205]
}

/// Hands the body over as it is.
public final class DataResponseSerializer: ResponseSerializer {
    /// Changes the body first.
    public let dataPreprocessor: any DataPreprocessor
    /// Status codes whose responses may be empty.
    public let emptyResponseCodes: Set<Int>
    /// Methods whose responses may be empty.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// Whether it runs no code of the user's and takes microseconds at most.
    let isQuick: Bool

    /// Makes a serializer.
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

    /// Returns the body; empty data when it is empty, and that is allowed.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> Data {
        if isQuick, error == nil, let data, !data.isEmpty { return data }
        return try body(request: request, response: response, data: data, error: error) ?? Data()
    }
}

/// Makes text of the body.
public final class StringResponseSerializer: ResponseSerializer {
    /// Changes the body first.
    public let dataPreprocessor: any DataPreprocessor
    /// The charset; the response's own if `nil`, ISO 8859-1 if it names none.
    public let encoding: String.Encoding?
    /// Status codes whose responses may be empty.
    public let emptyResponseCodes: Set<Int>
    /// Methods whose responses may be empty.
    public let emptyRequestMethods: Set<HTTPMethod>

    /// Makes a serializer.
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

    /// Returns the text; empty when the body is, and that is allowed.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> String {
        let body = try body(request: request, response: response, data: data, error: error)
        guard let body else { return "" }
        let encoding = encoding ?? response?.textEncoding ?? .isoLatin1
        guard let text = String(data: body, encoding: encoding) else {
            throw SessionError.responseSerializationFailed(
                reason: .stringSerializationFailed(encoding: encoding))
        }
        return text
    }
}

extension HTTPResponse {
    /// The charset that `Content-Type` names (RFC 9110 §8.3.2), if it is one known here.
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

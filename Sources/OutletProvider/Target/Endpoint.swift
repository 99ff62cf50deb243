public import FoundationEssentials
public import OutletHTTP
import OutletSession
import OutletTransport

/// A target made concrete: the address, the fields, what is sent, and what a stub answers.
open class Endpoint: @unchecked Sendable {
    // because it holds constants.

    /// Makes the stubbed answer; called when the stub answers, not before.
    public typealias SampleResponseClosure = @Sendable () -> EndpointSampleResponse

    /// The address.
    public let url: String
    /// The same, where it was not made of text: parsing it costs a tenth of a request.
    private let address: URL?
    /// Makes the stubbed answer.
    public let sampleResponseClosure: SampleResponseClosure
    /// The request method.
    public let method: HTTPMethod
    /// What is sent, and how.
    public let task: HTTPTask
    /// The header fields.
    public let httpHeaderFields: [String: String]?

    /// Makes an endpoint.
    public init(
        url: String, sampleResponseClosure: @escaping SampleResponseClosure, method: HTTPMethod,
        task: HTTPTask, httpHeaderFields: [String: String]?
    ) {
        self.url = url
        address = nil
        self.sampleResponseClosure = sampleResponseClosure
        self.method = method
        self.task = task
        self.httpHeaderFields = httpHeaderFields
    }

    /// Makes the endpoint of a target.
    init<Target: TargetType>(of target: Target) {
        let address = URL(target: target)
        self.address = address.baseURL == nil ? address : nil
        url = address.absoluteString
        sampleResponseClosure = { .networkResponse(200, target.sampleData) }
        method = target.method
        task = target.task
        httpHeaderFields = target.headers
    }

    /// The same endpoint with further fields; of names that are equal, case ignored, the new wins.
    open func adding(newHTTPHeaderFields: [String: String]) -> Endpoint {
        guard !newHTTPHeaderFields.isEmpty else { return self }
        var fields = httpHeaderFields ?? [:]
        for (name, value) in newHTTPHeaderFields {
            for old in fields.keys where old.equalsIgnoringCase(name) {
                fields[old] = nil
            }
            fields[name] = value
        }
        return Endpoint(
            url: url, sampleResponseClosure: sampleResponseClosure, method: method, task: task,
            httpHeaderFields: fields)
    }

    /// The same endpoint, sending something else.
    open func replacing(task: HTTPTask) -> Endpoint {
        Endpoint(
            url: url, sampleResponseClosure: sampleResponseClosure, method: method, task: task,
            httpHeaderFields: httpHeaderFields)
    }
}

/// What a stub answers.
public enum EndpointSampleResponse: Sendable {
    /// That status code and body.
    case networkResponse(Int, Data)
    /// That head and body.
    case response(HTTPResponse, Data)
    /// A failure of the network.
    case networkError(any Error)
}

extension Endpoint {
    /// Whether an address has a scheme and a host (RFC 3986 §3): `URL.scheme` and `URL.host()` cost a
    /// tenth of a request (`Benchmarks/count provider`).
    private static func namesHost(_ url: String) -> Bool {
        var url = url
        return url.withUTF8 { bytes in
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
                bytes[(colon + 1)...].starts(with: "//".utf8)
            else { return false }
            let authority = bytes[(colon + 3)...].prefix { byte in
                byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
            }
            let server = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] }
            let host = (server ?? authority).first
            return host != nil && host != UInt8(ascii: ":")
        }
    }

    /// The request this endpoint describes.
    ///
    /// - Throws: ``ProviderError/requestMapping(_:)`` when the address is not absolute,
    ///   ``ProviderError/encodableMapping(_:)`` when a value cannot be encoded,
    ///   ``ProviderError/parameterEncoding(_:)`` when parameters cannot.
    public func urlRequest() throws -> HTTPRequest {
        guard Self.namesHost(url),
            let url = address ?? URL(string: url, encodingInvalidCharacters: false)
        else { throw ProviderError.requestMapping(url) }
        var request = HTTPRequest(url: url, method: method)
        if let httpHeaderFields { request.headers = HTTPHeaders(httpHeaderFields) }
        switch task {
        case .requestPlain, .uploadFile, .uploadMultipartFormData, .downloadDestination: break
        case .uploadCompositeMultipartFormData(_, let urlParameters):
            try request.encode(urlParameters, with: URLEncoding(destination: .queryString))
        case .downloadParameters(let parameters, let encoding, _):
            try request.encode(parameters, with: encoding)
        case .requestData(let data): request.body = .data(data)
        case .requestJSONEncodable(let value):
            try request.encode(value, with: JSONEncoder())
        case .requestCustomJSONEncodable(let value, let encoder):
            try request.encode(value, with: encoder)
        case .requestParameters(let parameters, let encoding):
            try request.encode(parameters, with: encoding)
        case .requestCompositeData(let data, let urlParameters):
            request.body = .data(data)
            try request.encode(urlParameters, with: URLEncoding(destination: .queryString))
        case .requestCompositeParameters(let parameters, let encoding, let urlParameters):
            if let encoding = encoding as? URLEncoding, encoding.destination != .httpBody {
                throw ProviderError.parameterEncoding(BodyEncodingNotForBody())
            }
            try request.encode(parameters, with: encoding)
            try request.encode(urlParameters, with: URLEncoding(destination: .queryString))
        }
        return request
    }
}

/// A composite task whose body encoding would put the parameters into the address.
public struct BodyEncodingNotForBody: Error, CustomStringConvertible {
    /// What is wrong, and what to use.
    public var description: String {
        "the body's encoding is a URLEncoding whose destination is not the body: use .httpBody"
    }
}

extension HTTPRequest {
    fileprivate mutating func encode(_ value: any Encodable, with encoder: JSONEncoder) throws {
        do {
            body = .data(try encoder.encode(value))
        } catch {
            throw ProviderError.encodableMapping(error)
        }
        if headers["Content-Type"] == nil {
            headers.update(name: "Content-Type", value: "application/json")
        }
    }

    fileprivate mutating func encode(
        _ parameters: Parameters, with encoding: any ParameterEncoding
    ) throws {
        do {
            self = try encoding.encode(self, with: parameters)
        } catch {
            throw ProviderError.parameterEncoding(error)
        }
    }
}

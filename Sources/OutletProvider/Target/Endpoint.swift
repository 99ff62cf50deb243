public import FoundationEssentials
public import OutletHTTP
import OutletSession
import OutletTransport

/// The description of a request from which ``urlRequest()`` builds it, and its sample response.
open class Endpoint: @unchecked Sendable {
    // because it holds constants.

    /// Returns the sample response of a stub.
    ///
    /// Called when the stub is delivered, after its delay, and not for a cancelled one.
    ///
    /// Thread: where the completion runs.
    public typealias SampleResponseClosure = @Sendable () -> EndpointSampleResponse

    /// The URL.
    public let url: String
    /// The parsed ``url`` if it is known to have a scheme and a host: parsing takes 6 % of a
    /// request's instructions (`Benchmarks/count provider`).
    private let address: TargetAddress?
    /// Returns the sample response of a stub.
    public let sampleResponseClosure: SampleResponseClosure
    /// The request method.
    public let method: HTTPMethod
    /// The kind of the request, its body and parameters.
    public let task: HTTPTask
    /// The headers; `nil` for none.
    public let httpHeaderFields: [String: String]?

    /// Makes an endpoint.
    ///
    /// - Parameters:
    ///   - url: The absolute URL, percent-encoded; checked by ``urlRequest()``.
    ///   - sampleResponseClosure: Returns the sample response; see ``SampleResponseClosure``.
    ///   - method: The request method.
    ///   - task: The kind of the request, its body and parameters.
    ///   - httpHeaderFields: The headers; `nil` for none. Those of the session are added when the
    ///     request is sent.
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

    /// Makes the endpoint that a target describes.
    init<Target: TargetType>(of target: Target) {
        let address = URL.address(of: target)
        self.address = address.isComplete ? address : nil
        url = address.text
        sampleResponseClosure = { .networkResponse(200, target.sampleData) }
        method = target.method
        task = target.task
        httpHeaderFields = target.headers
    }

    /// Makes an endpoint with the address of another one, which is not parsed again.
    private init(changing other: Endpoint, task: HTTPTask, httpHeaderFields: [String: String]?) {
        url = other.url
        address = other.address
        sampleResponseClosure = other.sampleResponseClosure
        method = other.method
        self.task = task
        self.httpHeaderFields = httpHeaderFields
    }

    /// Returns a copy with more headers.
    ///
    /// - Parameter newHTTPHeaderFields: The headers; each replaces one of the same name, in any
    ///   case.
    open func adding(newHTTPHeaderFields: [String: String]) -> Endpoint {
        guard !newHTTPHeaderFields.isEmpty else { return self }
        var fields = httpHeaderFields ?? [:]
        for (name, value) in newHTTPHeaderFields {
            for old in fields.keys where old.equalsIgnoringCase(name) {
                fields[old] = nil
            }
            fields[name] = value
        }
        return Endpoint(changing: self, task: task, httpHeaderFields: fields)
    }

    /// Returns a copy with another task.
    ///
    /// - Parameter task: The new task.
    open func replacing(task: HTTPTask) -> Endpoint {
        Endpoint(changing: self, task: task, httpHeaderFields: httpHeaderFields)
    }
}

extension Endpoint: CustomReflectable {
    /// Method, URL and headers without secrets, and the kind of the task: `dump` would show all of
    /// them, and the body.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "method": method, "url": Redaction.standard.address(url), "task": task,
                "httpHeaderFields": HTTPHeaders(httpHeaderFields ?? [:]),
            ], displayStyle: .class, ancestorRepresentation: .suppressed)
    }
}

/// The sample response of a stub.
public enum EndpointSampleResponse: Sendable {
    /// A status code and a body, without headers.
    case networkResponse(Int, Data)
    /// A head and a body.
    case response(HTTPResponse, Data)
    /// An error; the call fails with ``ProviderError/underlying(_:_:)``.
    case networkError(any Error)
}

extension Endpoint {
    /// Whether a URL has a scheme and a host (RFC 3986 §3), in 260 instructions less than from
    /// `URL.scheme` and `URL.host()` (`Benchmarks/tricks names-host`).
    static func namesHost(_ url: String) -> Bool {
        var url = url
        return url.withUTF8 { bytes in
            let slash = UInt8(ascii: "/")
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
                colon + 2 < bytes.count, bytes[colon + 1] == slash, bytes[colon + 2] == slash
            else { return false }
            let authority = bytes[(colon + 3)...].prefix { byte in
                byte != slash && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
            }
            let server = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] }
            let host = (server ?? authority).first
            return host != nil && host != UInt8(ascii: ":")
        }
    }

    private static func parsed(_ url: String) -> URL? {
        namesHost(url) ? URL(string: url, encodingInvalidCharacters: false) : nil
    }

    /// Builds the request that this endpoint describes.
    ///
    /// Files and multipart forms of ``task`` are not part of it: the provider adds them when it
    /// sends the request.
    ///
    /// - Throws: ``ProviderError/requestMapping(_:)`` when ``url`` is not a valid URL with a scheme
    ///   and a host, ``ProviderError/encodableMapping(_:)`` when a value cannot be encoded,
    ///   ``ProviderError/parameterEncoding(_:)`` when parameters cannot be encoded.
    public func urlRequest() throws -> HTTPRequest {
        guard let url = address?.url ?? Self.parsed(url) else {
            throw ProviderError.requestMapping(url)
        }
        var request = RecentRequest.shared.request(url, method, httpHeaderFields ?? [:])
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

/// The body encoding of
/// ``HTTPTask/requestCompositeParameters(bodyParameters:bodyEncoding:urlParameters:)`` is a
/// `URLEncoding` whose destination is not the body.
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

public import FoundationEssentials
public import OutletHTTP
public import OutletSession

/// What a provider's request brought.
public final class Response: Sendable, Equatable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The status code.
    public let statusCode: Int
    /// The body.
    public let data: Data
    /// The request, as prepared.
    public let request: HTTPRequest?
    /// The head; `nil` for stubs that have none.
    public let response: HTTPResponse?
    /// What was measured; `nil` for stubs.
    public let metrics: TransferMetrics?

    /// Makes a response.
    public init(
        statusCode: Int, data: Data, request: HTTPRequest? = nil, response: HTTPResponse? = nil,
        metrics: TransferMetrics? = nil
    ) {
        self.statusCode = statusCode
        self.data = data
        self.request = request
        self.response = response
        self.metrics = metrics
    }

    /// Status code and length of the body.
    public var description: String { "Status Code: \(statusCode), Data Length: \(data.count)" }
    /// Same as ``description``.
    public var debugDescription: String { description }

    /// Equal when status code, body and head are.
    public static func == (a: Response, b: Response) -> Bool {
        a.statusCode == b.statusCode && a.data == b.data && a.response == b.response
    }
}

extension Response {
    /// Returns itself if the status code is in the range.
    ///
    /// - Throws: ``ProviderError/statusCode(_:)``.
    public func filter<Codes: RangeExpression>(statusCodes: Codes) throws -> Response
    where Codes.Bound == Int {
        guard statusCodes.contains(statusCode) else { throw ProviderError.statusCode(self) }
        return self
    }

    /// Returns itself if that is the status code.
    ///
    /// - Throws: ``ProviderError/statusCode(_:)``.
    public func filter(statusCode: Int) throws -> Response {
        try filter(statusCodes: statusCode...statusCode)
    }

    /// Returns itself if the status code is 200 to 299.
    ///
    /// - Throws: ``ProviderError/statusCode(_:)``.
    public func filterSuccessfulStatusCodes() throws -> Response {
        try filter(statusCodes: 200...299)
    }

    /// Returns itself if the status code is 200 to 399.
    ///
    /// - Throws: ``ProviderError/statusCode(_:)``.
    public func filterSuccessfulStatusAndRedirectCodes() throws -> Response {
        try filter(statusCodes: 200...399)
    }

    /// Makes text of the body, which must be UTF-8.
    ///
    /// - Throws: ``ProviderError/stringMapping(_:)``.
    public func mapString() throws -> String {
        guard let text = String(data: data, encoding: .utf8) else {
            throw ProviderError.stringMapping(self)
        }
        return text
    }

    /// Decodes the body.
    ///
    /// - Throws: ``ProviderError/objectMapping(_:_:)``.
    public func map<Value: Decodable>(
        _ type: Value.Type, using decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw ProviderError.objectMapping(error, self)
        }
    }
}

public import FoundationEssentials
public import OutletHTTP
import OutletSession
public import OutletTransport

/// What a provider's request brought.
public final class Response: Sendable, Equatable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The status code.
    public let statusCode: Int
    /// The body; empty when it went into a file.
    public let data: Data
    /// The request, as prepared.
    public let request: HTTPRequest?
    /// The head; `nil` for stubs that have none.
    public let response: HTTPResponse?
    /// What was measured; `nil` for stubs.
    public let metrics: TransferMetrics?
    /// The file that the body went into, of downloads.
    public let fileURL: URL?

    /// Makes a response.
    public init(
        statusCode: Int, data: Data, request: HTTPRequest? = nil, response: HTTPResponse? = nil,
        metrics: TransferMetrics? = nil, fileURL: URL? = nil
    ) {
        self.statusCode = statusCode
        self.data = data
        self.request = request
        self.response = response
        self.metrics = metrics
        self.fileURL = fileURL
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
}

public import FoundationEssentials
public import OutletHTTP
import OutletSession
public import OutletTransport

/// The response to a provider's request.
public final class Response: Sendable, Equatable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The status code.
    public let statusCode: Int
    /// The body; empty for downloads, whose body is in ``fileURL``.
    public var data: Data { outcome.data ?? Data() }
    /// The request of the last attempt as the plugins prepared it, before redirects.
    public var request: HTTPRequest? { outcome.request }
    /// The head; `nil` for ``EndpointSampleResponse/networkResponse(_:_:)``.
    public var response: HTTPResponse? { outcome.response }
    /// The metrics of the last attempt; `nil` for stubs.
    public var metrics: TransferMetrics? { outcome.metrics }
    /// The file of a download; `nil` for others.
    public let fileURL: URL?
    /// Shared with the session's response.
    private let outcome: AttemptOutcome

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - statusCode: The status code.
    ///   - data: The body.
    ///   - request: The request; `nil` if there is none.
    ///   - response: The head; `nil` if there is none. Its status code is not compared with
    ///     `statusCode`.
    ///   - metrics: The metrics of the transfer; `nil` if there was none.
    ///   - fileURL: The file of a download; `nil` for others.
    public convenience init(
        statusCode: Int, data: Data, request: HTTPRequest? = nil, response: HTTPResponse? = nil,
        metrics: TransferMetrics? = nil, fileURL: URL? = nil
    ) {
        self.init(
            statusCode: statusCode,
            AttemptOutcome(
                request: request, response: response, data: data, metrics: metrics, error: nil),
            fileURL: fileURL)
    }

    init(statusCode: Int, _ outcome: AttemptOutcome, fileURL: URL?) {
        self.statusCode = statusCode
        self.outcome = outcome
        self.fileURL = fileURL
    }

    /// The status code, and the length of the body in bytes.
    public var description: String { "Status Code: \(statusCode), Data Length: \(data.count)" }
    /// Same as ``description``.
    public var debugDescription: String { description }

    /// Compares status code, body and head; not request, metrics and file.
    public static func == (a: Response, b: Response) -> Bool {
        a.statusCode == b.statusCode && a.data == b.data && a.response == b.response
    }
}

extension Response {
    /// Returns the response if its status code is in a range.
    ///
    /// - Parameter statusCodes: The accepted codes, such as `200...299` or `..<400`.
    /// - Throws: ``ProviderError/statusCode(_:)`` otherwise.
    public func filter<Codes: RangeExpression>(statusCodes: Codes) throws -> Response
    where Codes.Bound == Int {
        guard statusCodes.contains(statusCode) else { throw ProviderError.statusCode(self) }
        return self
    }

    /// Returns the response if it has a given status code.
    ///
    /// - Parameter statusCode: The only accepted code.
    /// - Throws: ``ProviderError/statusCode(_:)`` otherwise.
    public func filter(statusCode: Int) throws -> Response {
        try filter(statusCodes: statusCode...statusCode)
    }

    /// Returns the response if its status code is 200 to 299.
    ///
    /// - Throws: ``ProviderError/statusCode(_:)`` otherwise.
    public func filterSuccessfulStatusCodes() throws -> Response {
        try filter(statusCodes: 200...299)
    }

    /// Returns the response if its status code is 200 to 399.
    ///
    /// - Throws: ``ProviderError/statusCode(_:)`` otherwise.
    public func filterSuccessfulStatusAndRedirectCodes() throws -> Response {
        try filter(statusCodes: 200...399)
    }
}

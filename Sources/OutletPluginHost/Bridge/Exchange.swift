import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTransport

/// A provider's result as plugins see it: a request and an outcome.
enum Exchange {
    static func of(
        _ result: Result<Response, ProviderError>, target: any TargetType
    ) -> (HTTPRequest, ResponseHandle.Outcome) {
        let response = response(of: result)
        var failure: (code: String, message: String)?
        if case .failure(let error) = result { failure = FailureText.of(error) }
        let outcome = ResponseHandle.Outcome(
            response: response.map(head), body: response?.data ?? Data(), failure: failure)
        return (response?.request ?? request(of: target), outcome)
    }

    /// The response that a result carries, also a failed one.
    static func response(of result: Result<Response, ProviderError>) -> Response? {
        switch result {
        case .success(let response): response
        case .failure(let error): error.response
        }
    }

    /// The result that a plugin put in place of another.
    static func response(
        _ answer: RequestHandle.Answer, in result: Result<Response, ProviderError>,
        request: HTTPRequest
    ) -> Response {
        let before = response(of: result)
        let head = HTTPResponse(
            url: before?.response?.url ?? request.url, statusCode: answer.status,
            httpVersion: before?.response?.httpVersion ?? "HTTP/1.1", headers: answer.headers)
        return Response(
            statusCode: answer.status, data: Data(answer.body), request: before?.request,
            response: head, metrics: before?.metrics)
    }

    private static func head(_ response: Response) -> HTTPResponse {
        response.response
            ?? HTTPResponse(url: response.request?.url, statusCode: response.statusCode)
    }

    /// What a target asks for, where nothing was sent.
    private static func request(of target: any TargetType) -> HTTPRequest {
        var request = HTTPRequest(url: URL?.some(target.baseURL), method: target.method)
        request.attributes["target.base_url"] = target.baseURL.absoluteString
        request.attributes["target.path"] = target.path
        return request
    }
}

/// Errors as plugins see them: a stable word and a text.
enum FailureText {
    static func of(_ error: any Error) -> (code: String, message: String) {
        (code: code(error), message: "\(error)")
    }

    private static func code(_ error: any Error) -> String {
        switch error {
        case let error as TransferError: error.code.rawValue
        case is PluginError: "plugin"
        case let error as ProviderError: providerCode(error)
        case let error as SessionError: sessionCode(error)
        default: "unknown"
        }
    }

    private static func providerCode(_ error: ProviderError) -> String {
        switch error {
        case .underlying(let error, _): code(error)
        case .statusCode: "unacceptableStatusCode"
        case .requestMapping: "badURL"
        case .parameterEncoding, .encodableMapping: "cannotEncode"
        case .jsonMapping, .stringMapping, .objectMapping: "cannotDecode"
        }
    }

    private static func sessionCode(_ error: SessionError) -> String {
        switch error {
        case .explicitlyCancelled: "cancelled"
        case .responseValidationFailed(.unacceptableStatusCode): "unacceptableStatusCode"
        case .responseValidationFailed: "unacceptableResponse"
        case .responseSerializationFailed: "cannotDecode"
        case .sessionDeinitialized, .sessionInvalidated: "sessionClosed"
        default: error.underlyingError.map { code($0) } ?? "unknown"
        }
    }
}

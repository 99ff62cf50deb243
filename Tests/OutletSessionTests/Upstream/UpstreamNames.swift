import FoundationEssentials
import OutletHTTP
import OutletReachability
import OutletObservation
import OutletSession
import OutletTransport

// Upstream's names for API that has other names here. Code written for upstream compiles together
// with this file; the other files of this directory contain such code.

typealias AFError = SessionError
typealias AFResult<Success> = Result<Success, SessionError>
typealias AFDataResponse<Success: Sendable> = DataResponse<Success, SessionError>
typealias AFDownloadResponse<Success: Sendable> = DownloadResponse<Success, SessionError>
typealias AlamofireNotifications = RequestNotifications

typealias URLRequest = HTTPRequest
typealias URLResponse = HTTPResponse
typealias HTTPURLResponse = HTTPResponse
typealias URLSession = any Transport
typealias URLSessionTask = any TransferTask
typealias URLSessionDataTask = any TransferTask
typealias URLSessionDownloadTask = any TransferTask
typealias URLSessionUploadTask = any TransferTask
typealias URLSessionTaskMetrics = TransferMetrics
typealias URLSessionConfiguration = SessionConfiguration
typealias URLAuthenticationChallenge = AuthenticationChallenge
typealias URLCredential = Credential
typealias URLError = TransferError
typealias InputStream = any BodyStream
typealias Progress = TransferProgress

enum AFInfo {
    static let version = outletVersion
}

extension Error {
    var asAFError: AFError? { asSessionError }
}

extension TransferError {
    init(_ code: Code) { self.init(code: code, reason: "\(code)") }
}

extension HTTPRequest {
    var httpMethod: String? {
        get { method.rawValue }
        set { method = HTTPMethod(rawValue: newValue ?? "GET") }
    }

    var allHTTPHeaderFields: [String: String]? { headers.dictionary }

    func value(forHTTPHeaderField field: String) -> String? { headers.value(for: field) }

    mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
        headers[field] = value
    }
}

extension HTTPResponse {
    init?(
        url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?
    ) {
        self.init(
            url: url, statusCode: statusCode, httpVersion: httpVersion ?? "HTTP/1.1",
            headers: HTTPHeaders(headerFields ?? [:]))
    }
}

extension TransferTask {
    var originalRequest: HTTPRequest? { currentRequest }
}

extension AllowedCharacters {
    static var afURLQueryAllowed: AllowedCharacters { urlQueryComponentAllowed }
}

extension SessionConfiguration {
    static var af: SessionConfiguration.Type { self }
}

extension NetworkPath {
    static var pathAvailable: NetworkPath {
        NetworkPath(status: .satisfied, interfaces: [], supportsIPv4: true, supportsIPv6: true)
    }
}

extension Result {
    var isSuccess: Bool { success != nil }
    var isFailure: Bool { !isSuccess }
    var success: Success? { try? get() }
    var failure: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}

import COutletPlugin
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTransport

/// Converts errors to the stable code and the message that plugins see.
enum FailureText {
    static func of(_ error: any Error) -> (code: String, message: String) {
        // What an interceptor of the program says of a retry tells plugins nothing.
        if case .requestRetryFailed(let refusal, let original) = error as? SessionError,
            code(refusal) == "unknown"
        {
            return of(original)
        }
        // Plugins pass messages on, and must not pass longer ones.
        let limit = outlet_view.Limit.message.rawValue - ellipsis
        return (code: code(error), message: "\(error)".shortened(toBytes: limit))
    }

    /// The number of bytes of the ellipsis at the end of a shortened text.
    private static let ellipsis = 3

    private static func code(_ error: any Error) -> String {
        switch error {
        case let error as TransferError: error.code.rawValue
        case let error as PluginError: error.code.isEmpty ? "plugin" : error.code
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
        case .serverTrustEvaluationFailed(.customEvaluationFailed(let error)): code(error)
        case .serverTrustEvaluationFailed:
            TransferError.Code.serverCertificateUntrusted.rawValue
        default: error.underlyingError.map { code($0) } ?? "unknown"
        }
    }
}

extension TransferError.Code {
    /// The number that URL loading elsewhere gives this code (`NSURLErrorDomain`).
    ///
    /// Codes of this library alone have the number of what is nearest.
    public var urlErrorCode: Int {
        switch self {
        case .unknown: -1
        case .cancelled: -999
        case .badURL, .badRequest: -1000
        case .timedOut: -1001
        case .unsupportedURL: -1002
        case .cannotFindHost: -1003
        case .cannotConnectToHost, .proxyConnectionFailed, .tooManyOpenFiles: -1004
        case .networkConnectionLost: -1005
        case .dnsLookupFailed: -1006
        case .httpTooManyRedirects: -1007
        case .resourceUnavailable: -1008
        case .notConnectedToInternet: -1009
        case .redirectToInvalidLocation: -1010
        case .badServerResponse: -1011
        case .cannotDecodeContentData: -1016
        case .requestBodyStreamExhausted: -1021
        case .dataLengthExceedsMaximum, .decompressionLimitExceeded, .headerFieldsExceedMaximum:
            -1103
        case .secureConnectionFailed: -1200
        case .serverCertificateHasBadDate: -1201
        case .serverCertificateUntrusted: -1202
        case .clientCertificateRejected: -1205
        case .cannotCreateFile: -3000
        case .cannotOpenFile: -3001
        case .cannotWriteToFile: -3003
        case .transportClosed: -999
        }
    }

    /// The code for a number of URL loading elsewhere (`NSURLErrorDomain`).
    ///
    /// - Returns: `nil` where nothing here corresponds, such as background sessions.
    public init?(urlErrorCode: Int) {
        switch urlErrorCode {
        case -1: self = .unknown
        case -999: self = .cancelled
        case -1000: self = .badURL
        case -1001: self = .timedOut
        case -1002: self = .unsupportedURL
        case -1003: self = .cannotFindHost
        case -1004: self = .cannotConnectToHost
        case -1005: self = .networkConnectionLost
        case -1006: self = .dnsLookupFailed
        case -1007: self = .httpTooManyRedirects
        case -1008: self = .resourceUnavailable
        // Roaming off, a call active, data not allowed, nothing but a cache: no network to use.
        case -1009, -1018, -1019, -1020, -2000: self = .notConnectedToInternet
        case -1010: self = .redirectToInvalidLocation
        case -1011, -1017: self = .badServerResponse
        // Raw data, content, a download's decoding in mid-stream or at its end.
        case -1015, -1016, -3006, -3007: self = .cannotDecodeContentData
        case -1021: self = .requestBodyStreamExhausted
        case -1103: self = .dataLengthExceedsMaximum
        case -1200: self = .secureConnectionFailed
        // Passed, and not yet come.
        case -1201, -1204: self = .serverCertificateHasBadDate
        // Untrusted root, unknown root.
        case -1202, -1203: self = .serverCertificateUntrusted
        case -1205, -1206: self = .clientCertificateRejected
        case -1100, -1101, -1102, -3001: self = .cannotOpenFile
        case -3000: self = .cannotCreateFile
        case -3002, -3003: self = .cannotWriteToFile
        default: return nil
        }
    }
}

extension TransferError.Code {
    /// The number of this code in `NSURLErrorDomain`.
    ///
    /// Codes that only this library has return the number of the closest code there, or -1
    /// (unknown).
    public var urlErrorCode: Int {
        switch self {
        case .badRequest, .badConfiguration: Self.badURL.urlErrorCode
        case .proxyConnectionFailed, .tooManyOpenFiles, .requestQueueFull, .addressNotAllowed:
            Self.cannotConnectToHost.urlErrorCode
        case .decompressionLimitExceeded, .headerFieldsExceedMaximum:
            Self.dataLengthExceedsMaximum.urlErrorCode
        case .transportClosed: Self.cancelled.urlErrorCode
        default: Self.numbers[self] ?? Self.unknownNumber
        }
    }

    /// Makes the code for a number of `NSURLErrorDomain`.
    ///
    /// - Parameter urlErrorCode: The number, such as -1001 for ``timedOut``.
    /// - Returns: `nil` for a number that is not in that domain.
    public init?(urlErrorCode: Int) {
        guard let code = Self.codes[urlErrorCode] else { return nil }
        self = code
    }

    private static let unknownNumber = -1

    /// From `NSURLError.h`.
    private static let numbers: [Self: Int] = [
        .unknown: unknownNumber,
        .backgroundSessionRequiresSharedContainer: -995,
        .backgroundSessionInUseByAnotherProcess: -996,
        .backgroundSessionWasDisconnected: -997,
        .cancelled: -999,
        .badURL: -1000,
        .timedOut: -1001,
        .unsupportedURL: -1002,
        .cannotFindHost: -1003,
        .cannotConnectToHost: -1004,
        .networkConnectionLost: -1005,
        .dnsLookupFailed: -1006,
        .httpTooManyRedirects: -1007,
        .resourceUnavailable: -1008,
        .notConnectedToInternet: -1009,
        .redirectToNonExistentLocation: -1010,
        .badServerResponse: -1011,
        .userCancelledAuthentication: -1012,
        .userAuthenticationRequired: -1013,
        .zeroByteResource: -1014,
        .cannotDecodeRawData: -1015,
        .cannotDecodeContentData: -1016,
        .cannotParseResponse: -1017,
        .internationalRoamingOff: -1018,
        .callIsActive: -1019,
        .dataNotAllowed: -1020,
        .requestBodyStreamExhausted: -1021,
        .appTransportSecurityRequiresSecureConnection: -1022,
        .fileDoesNotExist: -1100,
        .fileIsDirectory: -1101,
        .noPermissionsToReadFile: -1102,
        .dataLengthExceedsMaximum: -1103,
        .secureConnectionFailed: -1200,
        .serverCertificateHasBadDate: -1201,
        .serverCertificateUntrusted: -1202,
        .serverCertificateHasUnknownRoot: -1203,
        .serverCertificateNotYetValid: -1204,
        .clientCertificateRejected: -1205,
        .clientCertificateRequired: -1206,
        .cannotLoadFromNetwork: -2000,
        .cannotCreateFile: -3000,
        .cannotOpenFile: -3001,
        .cannotCloseFile: -3002,
        .cannotWriteToFile: -3003,
        .cannotRemoveFile: -3004,
        .cannotMoveFile: -3005,
        .downloadDecodingFailedMidStream: -3006,
        .downloadDecodingFailedToComplete: -3007,
    ]

    private static let codes = [Int: Self](uniqueKeysWithValues: numbers.map { ($1, $0) })
}

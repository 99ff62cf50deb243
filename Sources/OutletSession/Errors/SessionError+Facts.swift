public import FoundationEssentials
import OutletHTTP
public import OutletTransport

extension SessionError {
    /// Whether the body to upload could not be made.
    public var isCreateUploadableError: Bool {
        if case .createUploadableFailed = self { true } else { false }
    }

    /// Whether the request could not be made.
    public var isCreateURLRequestError: Bool {
        if case .createURLRequestFailed = self { true } else { false }
    }

    /// Whether a downloaded file could not be moved.
    public var isDownloadedFileMoveError: Bool {
        if case .downloadedFileMoveFailed = self { true } else { false }
    }

    /// Whether the request was cancelled.
    public var isExplicitlyCancelledError: Bool {
        if case .explicitlyCancelled = self { true } else { false }
    }

    /// Whether the text was no URL.
    public var isInvalidURLError: Bool {
        if case .invalidURL = self { true } else { false }
    }

    /// Whether a multipart body could not be encoded.
    public var isMultipartEncodingError: Bool {
        if case .multipartEncodingFailed = self { true } else { false }
    }

    /// Whether a `ParameterEncoding` failed.
    public var isParameterEncodingError: Bool {
        if case .parameterEncodingFailed = self { true } else { false }
    }

    /// Whether a `ParameterEncoder` failed.
    public var isParameterEncoderError: Bool {
        if case .parameterEncoderFailed = self { true } else { false }
    }

    /// Whether an adapter failed.
    public var isRequestAdaptationError: Bool {
        if case .requestAdaptationFailed = self { true } else { false }
    }

    /// Whether a retrier ended with an error of its own.
    public var isRequestRetryError: Bool {
        if case .requestRetryFailed = self { true } else { false }
    }

    /// Whether a validator refused the response.
    public var isResponseValidationError: Bool {
        if case .responseValidationFailed = self { true } else { false }
    }

    /// Whether the body could not be turned into a value.
    public var isResponseSerializationError: Bool {
        if case .responseSerializationFailed = self { true } else { false }
    }

    /// Whether the server was not trusted.
    public var isServerTrustEvaluationError: Bool {
        if case .serverTrustEvaluationFailed = self { true } else { false }
    }

    /// Whether the session went away.
    public var isSessionDeinitializedError: Bool {
        if case .sessionDeinitialized = self { true } else { false }
    }

    /// Whether the session was invalidated.
    public var isSessionInvalidatedError: Bool {
        if case .sessionInvalidated = self { true } else { false }
    }

    /// Whether the transfer failed.
    public var isSessionTaskError: Bool {
        if case .sessionTaskFailed = self { true } else { false }
    }

    /// Whether the request could not be sent as it was.
    public var isURLRequestValidationError: Bool {
        if case .urlRequestValidationFailed = self { true } else { false }
    }

    /// What was given as a URL, for ``invalidURL(url:)``.
    public var urlConvertible: (any URLConvertible)? {
        guard case .invalidURL(let url) = self else { return nil }
        return url
    }

    /// The file or address that the error is about, if it or the error inside it names one.
    ///
    /// An address that is none is ``urlConvertible``.
    public var url: URL? {
        switch self {
        case .multipartEncodingFailed(let reason): reason.url
        case .responseValidationFailed(.dataFileReadFailed(let url)): url
        case .responseSerializationFailed(.inputFileReadFailed(let url)): url
        case .requestRetryFailed(let retryError, let originalError):
            originalError.asSessionError?.url ?? retryError.asSessionError?.url
        default: underlyingError?.asSessionError?.url
        }
    }

    /// The error inside this one.
    public var underlyingError: (any Error)? {
        switch self {
        case .createUploadableFailed(let error), .createURLRequestFailed(let error),
            .downloadedFileMoveFailed(let error, _, _), .requestAdaptationFailed(let error),
            .sessionTaskFailed(let error):
            error
        case .requestRetryFailed(let retryError, _): retryError
        case .sessionInvalidated(let error): error
        case .multipartEncodingFailed(let reason): reason.underlyingError
        case .parameterEncodingFailed(let reason): reason.underlyingError
        case .parameterEncoderFailed(let reason): reason.underlyingError
        case .responseValidationFailed(.customValidationFailed(let error)): error
        case .serverTrustEvaluationFailed(let reason): reason.underlyingError
        case .responseSerializationFailed(let reason): reason.underlyingError
        case .urlRequestValidationFailed(.invalidSyntax(let error)): error
        case .responseValidationFailed, .urlRequestValidationFailed, .explicitlyCancelled,
            .invalidURL, .sessionDeinitialized:
            nil
        }
    }

    /// The transfer's own error, if the transfer failed, whatever is wrapped around it.
    public var transferError: TransferError? {
        if let error = underlyingError as? TransferError { return error }
        if case .requestRetryFailed(_, let original) = self {
            return (original as? TransferError) ?? original.asSessionError?.transferError
        }
        return underlyingError?.asSessionError?.transferError
    }

    /// What a download that broke off can be gone on with.
    public var downloadResumeData: Data? { transferError?.downloadResumeData }

    /// The content types a validator would have taken.
    public var acceptableContentTypes: [String]? {
        guard case .responseValidationFailed(let reason) = self else { return nil }
        switch reason {
        case .missingContentType(let types), .unacceptableContentType(let types, _): return types
        default: return nil
        }
    }

    /// The content type a validator refused.
    public var responseContentType: String? {
        guard
            case .responseValidationFailed(.unacceptableContentType(_, let responseContentType)) =
                self
        else { return nil }
        return responseContentType
    }

    /// The status code that was refused: by a validator, or as the answer to a WebSocket's handshake
    /// or to a request for server-sent events.
    public var responseCode: Int? {
        if case .responseValidationFailed(.unacceptableStatusCode(let code)) = self { return code }
        if case .notAnEventStream(let code, _)? = underlyingError as? ServerSentEventError {
            return code
        }
        return transferError?.statusCode
    }

    /// The charset that text could not be read in.
    public var failedStringEncoding: String.Encoding? {
        guard
            case .responseSerializationFailed(.stringSerializationFailed(let encoding)) = self
        else { return nil }
        return encoding
    }

    /// Where a file that could not be moved was.
    public var sourceURL: URL? {
        guard case .downloadedFileMoveFailed(_, let source, _) = self else { return nil }
        return source
    }

    /// Where a file could not be moved to.
    public var destinationURL: URL? {
        guard case .downloadedFileMoveFailed(_, _, let destination) = self else { return nil }
        return destination
    }
}

extension SessionError.MultipartEncodingFailureReason {
    var url: URL? {
        switch self {
        case .bodyPartURLInvalid(let url), .bodyPartFilenameInvalid(let url),
            .bodyPartFileNotReachable(let url), .bodyPartFileIsDirectory(let url),
            .bodyPartFileSizeNotAvailable(let url), .bodyPartInputStreamCreationFailed(let url),
            .outputStreamCreationFailed(let url), .outputStreamFileAlreadyExists(let url),
            .outputStreamURLInvalid(let url), .bodyPartFileNotReachableWithError(let url, _),
            .bodyPartFileSizeQueryFailedWithError(let url, _):
            url
        case .outputStreamWriteFailed, .inputStreamReadFailed, .boundaryInvalid,
            .bodyPartHeaderInvalid:
            nil
        }
    }

    var underlyingError: (any Error)? {
        switch self {
        case .bodyPartFileNotReachableWithError(_, let error),
            .bodyPartFileSizeQueryFailedWithError(_, let error),
            .outputStreamWriteFailed(let error), .inputStreamReadFailed(let error):
            error
        case .bodyPartHeaderInvalid(let error): error
        default: nil
        }
    }
}

extension SessionError.ParameterEncodingFailureReason {
    var underlyingError: (any Error)? {
        switch self {
        case .jsonEncodingFailed(let error), .customEncodingFailed(let error): error
        case .missingURL: nil
        }
    }
}

extension SessionError.ParameterEncoderFailureReason {
    var underlyingError: (any Error)? {
        guard case .encoderFailed(let error) = self else { return nil }
        return error
    }
}

extension SessionError.ResponseSerializationFailureReason {
    var underlyingError: (any Error)? {
        switch self {
        case .jsonSerializationFailed(let error), .decodingFailed(let error),
            .customSerializationFailed(let error):
            error
        default: nil
        }
    }
}

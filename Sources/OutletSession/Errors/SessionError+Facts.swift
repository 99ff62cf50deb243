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

    /// Whether a text or components could not be converted to a URL.
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

    /// Whether an adapter failed, or middleware before it called `next`.
    public var isRequestAdaptationError: Bool {
        if case .requestAdaptationFailed = self { true } else { false }
    }

    /// Whether a retrier failed the request with an error of its own, or took too long.
    public var isRequestRetryError: Bool {
        if case .requestRetryFailed = self { true } else { false }
    }

    /// Whether a validator refused the response.
    public var isResponseValidationError: Bool {
        if case .responseValidationFailed = self { true } else { false }
    }

    /// Whether a serializer could not make a value from the response.
    public var isResponseSerializationError: Bool {
        if case .responseSerializationFailed = self { true } else { false }
    }

    /// Whether the server was not trusted.
    public var isServerTrustEvaluationError: Bool {
        if case .serverTrustEvaluationFailed = self { true } else { false }
    }

    /// Whether the session was deallocated.
    public var isSessionDeinitializedError: Bool {
        if case .sessionDeinitialized = self { true } else { false }
    }

    /// Whether the session was invalidated or shut down.
    public var isSessionInvalidatedError: Bool {
        if case .sessionInvalidated = self { true } else { false }
    }

    /// Whether the transfer failed.
    public var isSessionTaskError: Bool {
        if case .sessionTaskFailed = self { true } else { false }
    }

    /// Whether the request was not valid.
    public var isURLRequestValidationError: Bool {
        if case .urlRequestValidationFailed = self { true } else { false }
    }

    /// The value that could not be converted to a URL; `nil` unless ``invalidURL(url:)``.
    public var urlConvertible: (any URLConvertible)? {
        guard case .invalidURL(let url) = self else { return nil }
        return url
    }

    /// The URL of this error, or of the ``SessionError`` inside it; `nil` if there is none.
    ///
    /// Set for multipart encoding, and for downloaded files that cannot be read. What could not be
    /// converted to a URL is ``urlConvertible``.
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

    /// The error inside this one; `nil` if there is none.
    ///
    /// For ``requestRetryFailed(retryError:originalError:)``, the retrier's.
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

    /// The transfer's error, at any depth inside this one; `nil` if there is none.
    public var transferError: TransferError? {
        if let error = underlyingError as? TransferError { return error }
        if case .requestRetryFailed(_, let original) = self {
            return (original as? TransferError) ?? original.asSessionError?.transferError
        }
        return underlyingError?.asSessionError?.transferError
    }

    /// The data to resume a download with, as ``DownloadRequest/resumeData``; `nil` if there is
    /// none, or the failure is not that of a transfer.
    public var downloadResumeData: Data? { transferError?.downloadResumeData }

    /// The content types that a validator accepts; `nil` unless it refused the response's.
    public var acceptableContentTypes: [String]? {
        guard case .responseValidationFailed(let reason) = self else { return nil }
        switch reason {
        case .missingContentType(let types), .unacceptableContentType(let types, _): return types
        default: return nil
        }
    }

    /// The content type that a validator refused; `nil` for other errors.
    public var responseContentType: String? {
        guard
            case .responseValidationFailed(.unacceptableContentType(_, let responseContentType)) =
                self
        else { return nil }
        return responseContentType
    }

    /// The status code of the response that was refused; `nil` for other errors.
    ///
    /// It was refused by a status code validator, or is not the one that a WebSocket handshake
    /// (101) or a request for server-sent events (200) requires.
    public var responseCode: Int? {
        if case .responseValidationFailed(.unacceptableStatusCode(let code)) = self { return code }
        if case .notAnEventStream(let code, _)? = underlyingError as? ServerSentEventError {
            return code
        }
        return transferError?.statusCode
    }

    /// The encoding in which the body is not text; `nil` for other errors.
    public var failedStringEncoding: String.Encoding? {
        guard
            case .responseSerializationFailed(.stringSerializationFailed(let encoding)) = self
        else { return nil }
        return encoding
    }

    /// The present URL of a file that could not be moved; `nil` for other errors.
    public var sourceURL: URL? {
        guard case .downloadedFileMoveFailed(_, let source, _) = self else { return nil }
        return source
    }

    /// The destination that a file could not be moved to; `nil` for other errors.
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

public import FoundationEssentials
public import OutletHTTP

/// Why a request of a session failed: one case for each stage, with its cause.
public indirect enum SessionError: Error, Sendable {
    /// The body of an upload could not be made; `error` is the ``UploadableConvertible``'s.
    case createUploadableFailed(error: any Error)
    /// The request could not be made; `error` is the ``URLRequestConvertible``'s.
    case createURLRequestFailed(error: any Error)
    /// A downloaded file could not be moved to its destination.
    case downloadedFileMoveFailed(error: any Error, source: URL, destination: URL)
    /// The request was cancelled with `cancel()`.
    case explicitlyCancelled
    /// A text or components cannot be converted to a URL.
    case invalidURL(url: any URLConvertible)
    /// A multipart body could not be encoded.
    case multipartEncodingFailed(reason: MultipartEncodingFailureReason)
    /// A ``ParameterEncoding`` failed.
    case parameterEncodingFailed(reason: ParameterEncodingFailureReason)
    /// A ``ParameterEncoder`` failed.
    case parameterEncoderFailed(reason: ParameterEncoderFailureReason)
    /// An adapter failed, took too long, or returned a request that is not valid; or middleware
    /// failed before it called `next`.
    case requestAdaptationFailed(error: any Error)
    /// A retrier failed the request with an error of its own, or took too long.
    ///
    /// `originalError` is why the retrier was called.
    case requestRetryFailed(retryError: any Error, originalError: any Error)
    /// A validator refused the response.
    case responseValidationFailed(reason: ResponseValidationFailureReason)
    /// A serializer could not make a value from the response.
    case responseSerializationFailed(reason: ResponseSerializationFailureReason)
    /// The server was not trusted.
    case serverTrustEvaluationFailed(reason: ServerTrustFailureReason)
    /// The session was deallocated before the request ended.
    case sessionDeinitialized
    /// The session was invalidated or shut down before the request ended, or before it started.
    ///
    /// `error` is the one given to ``Session/invalidate(error:)``, or why the shutdown ended the
    /// request.
    case sessionInvalidated(error: (any Error)?)
    /// The transfer failed; `error` is mostly a `TransferError`.
    case sessionTaskFailed(error: any Error)
    /// The request is not valid, and was not sent.
    case urlRequestValidationFailed(reason: URLRequestValidationFailureReason)
}

extension SessionError {
    /// A part or file had another length than was declared.
    public struct UnexpectedInputStreamLength: Error, Equatable, CustomStringConvertible {
        /// How many bytes were declared.
        public let bytesExpected: UInt64
        /// How many bytes were read before the error; greater than ``bytesExpected`` if there were
        /// more.
        public let bytesRead: UInt64
        /// The file; `nil` for a stream.
        public let file: URL?

        /// Makes an error.
        ///
        /// - Parameters:
        ///   - bytesExpected: How many bytes were declared.
        ///   - bytesRead: How many bytes were read.
        ///   - file: The file; `nil` for a stream.
        public init(bytesExpected: UInt64, bytesRead: UInt64, file: URL? = nil) {
            self.bytesExpected = bytesExpected
            self.bytesRead = bytesRead
            self.file = file
        }

        /// The file, if there is one, and how its length differs, with the numbers of bytes.
        public var description: String {
            (file.map { "\($0.path): " } ?? "")
                + (bytesRead < bytesExpected
                    ? "it ended after \(bytesRead) of \(bytesExpected) bytes"
                    : "it continues after the \(bytesExpected) bytes declared")
        }
    }

    /// Why a multipart body could not be encoded.
    public enum MultipartEncodingFailureReason: Sendable {
        /// The boundary is not 1 to 70 letters, digits and `'()+_,-./:=?` (RFC 2046 §5.1.1).
        case boundaryInvalid(String)
        /// A header field of the part is not valid.
        case bodyPartHeaderInvalid(error: HTTPRequestError)
        /// The part's URL is not a file URL.
        case bodyPartURLInvalid(url: URL)
        /// The part's URL has no file name with an extension.
        case bodyPartFilenameInvalid(in: URL)
        /// The part's file does not exist.
        case bodyPartFileNotReachable(at: URL)
        /// Checking whether the file exists failed.
        case bodyPartFileNotReachableWithError(atURL: URL, error: any Error)
        /// The file is a directory.
        case bodyPartFileIsDirectory(at: URL)
        /// The part's file is not a regular file, or its size is not known.
        case bodyPartFileSizeNotAvailable(at: URL)
        /// Querying the file's size failed.
        case bodyPartFileSizeQueryFailedWithError(forURL: URL, error: any Error)
        /// The part's file cannot be opened.
        case bodyPartInputStreamCreationFailed(for: URL)
        /// The output file cannot be created.
        case outputStreamCreationFailed(for: URL)
        /// The output file exists already.
        case outputStreamFileAlreadyExists(at: URL)
        /// The output's URL is not a file URL.
        case outputStreamURLInvalid(url: URL)
        /// Writing the output failed.
        case outputStreamWriteFailed(error: any Error)
        /// Reading a part failed, or its length was not the declared one: see
        /// ``UnexpectedInputStreamLength``.
        case inputStreamReadFailed(error: any Error)
    }

    /// Why a ``ParameterEncoding`` failed.
    public enum ParameterEncodingFailureReason: Sendable {
        /// The request has no URL.
        case missingURL
        /// The parameters cannot be encoded as JSON.
        case jsonEncodingFailed(error: any Error)
        /// A custom encoding failed.
        case customEncodingFailed(error: any Error)
    }

    /// Why a ``ParameterEncoder`` failed.
    public enum ParameterEncoderFailureReason: Sendable {
        /// A component that the request lacks.
        public enum RequiredComponent: Sendable, Equatable {
            /// The URL.
            case url
            /// A valid method; `rawValue` is the one it has.
            case httpMethod(rawValue: String)
        }

        /// The request has no URL or no valid method.
        case missingRequiredComponent(RequiredComponent)
        /// The encoder failed.
        case encoderFailed(error: any Error)
    }

    /// Why a validator refused a response.
    public enum ResponseValidationFailureReason: Sendable {
        /// There is no downloaded file to validate.
        case dataFileNil
        /// The downloaded file cannot be read.
        case dataFileReadFailed(at: URL)
        /// The response has no `Content-Type`.
        case missingContentType(acceptableContentTypes: [String])
        /// The response's content type is not acceptable.
        case unacceptableContentType(acceptableContentTypes: [String], responseContentType: String)
        /// The status code is not acceptable.
        case unacceptableStatusCode(code: Int)
        /// A custom validator refused the response with this error.
        case customValidationFailed(error: any Error)
    }

    /// Why a serializer could not make a value from a response.
    public enum ResponseSerializationFailureReason: Sendable {
        /// The body is missing or empty, and the serializer does not allow that.
        case inputDataNilOrZeroLength
        /// There is no downloaded file to serialize.
        case inputFileNil
        /// The file cannot be read.
        case inputFileReadFailed(at: URL)
        /// The body is not text in this encoding.
        case stringSerializationFailed(encoding: String.Encoding)
        /// The body is not JSON.
        case jsonSerializationFailed(error: any Error)
        /// A decoder failed.
        case decodingFailed(error: any Error)
        /// A custom serializer failed.
        case customSerializationFailed(error: any Error)
        /// The body is empty, and the type does not conform to ``EmptyResponse``.
        case invalidEmptyResponse(type: String)
    }

    /// Why a request is not valid.
    public enum URLRequestValidationFailureReason: Sendable, Equatable {
        /// A `GET` request has a body, and `HTTPRequest.allowsBodyInGET` is `false`.
        case bodyDataInGETRequest(Data)
        /// The method or a header field is not valid.
        case invalidSyntax(HTTPRequestError)
    }
}

extension Error {
    /// This error as a ``SessionError``; `nil` if it is another error.
    public var asSessionError: SessionError? { self as? SessionError }

    /// Returns this error if it is a ``SessionError``, else `make` of it.
    func asSessionError(or make: (any Error) -> SessionError) -> SessionError {
        (self as? SessionError) ?? make(self)
    }
}

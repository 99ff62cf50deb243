public import FoundationEssentials
public import OutletHTTP

/// Why a request of a session failed, by stage, each with its evidence.
public indirect enum SessionError: Error, Sendable {
    /// The body to upload could not be made.
    case createUploadableFailed(error: any Error)
    /// The request could not be made.
    case createURLRequestFailed(error: any Error)
    /// A downloaded file could not be put where it was wanted.
    case downloadedFileMoveFailed(error: any Error, source: URL, destination: URL)
    /// Somebody called `cancel()`.
    case explicitlyCancelled
    /// The text is not a URL.
    case invalidURL(url: any URLConvertible)
    /// A multipart body could not be encoded.
    case multipartEncodingFailed(reason: MultipartEncodingFailureReason)
    /// A `ParameterEncoding` failed.
    case parameterEncodingFailed(reason: ParameterEncodingFailureReason)
    /// A `ParameterEncoder` failed.
    case parameterEncoderFailed(reason: ParameterEncoderFailureReason)
    /// An adapter failed, or made a request that cannot be sent.
    case requestAdaptationFailed(error: any Error)
    /// A retrier ended the retries with an error of its own.
    case requestRetryFailed(retryError: any Error, originalError: any Error)
    /// A validator refused the response.
    case responseValidationFailed(reason: ResponseValidationFailureReason)
    /// The body could not be turned into what was asked for.
    case responseSerializationFailed(reason: ResponseSerializationFailureReason)
    /// The server is not trusted.
    case serverTrustEvaluationFailed(reason: ServerTrustFailureReason)
    /// The session went away while the request was under way.
    case sessionDeinitialized
    /// The session was invalidated.
    case sessionInvalidated(error: (any Error)?)
    /// The transfer failed.
    case sessionTaskFailed(error: any Error)
    /// The request cannot be sent as it is.
    case urlRequestValidationFailed(reason: URLRequestValidationFailureReason)
}

extension SessionError {
    /// A part or file gave another number of bytes than was declared.
    public struct UnexpectedInputStreamLength: Error, Equatable, CustomStringConvertible {
        /// How many bytes were declared.
        public let bytesExpected: UInt64
        /// How many bytes were read until the difference showed.
        public let bytesRead: UInt64

        /// Makes an error.
        public init(bytesExpected: UInt64, bytesRead: UInt64) {
            self.bytesExpected = bytesExpected
            self.bytesRead = bytesRead
        }

        /// Both numbers.
        public var description: String {
            bytesRead < bytesExpected
                ? "it ended after \(bytesRead) of \(bytesExpected) bytes"
                : "it goes on after the \(bytesExpected) bytes declared"
        }
    }

    /// Why a multipart body could not be encoded.
    public enum MultipartEncodingFailureReason: Sendable {
        /// The boundary is not one: 1 to 70 letters, digits and `'()+_,-./:=?` (RFC 2046 §5.1.1).
        case boundaryInvalid(String)
        /// A field of the part cannot be written.
        case bodyPartHeaderInvalid(error: HTTPRequestError)
        /// The part's URL is not a file's.
        case bodyPartURLInvalid(url: URL)
        /// The part's URL has no file name to send.
        case bodyPartFilenameInvalid(in: URL)
        /// There is no such file.
        case bodyPartFileNotReachable(at: URL)
        /// Looking for the file failed.
        case bodyPartFileNotReachableWithError(atURL: URL, error: any Error)
        /// The file is a directory.
        case bodyPartFileIsDirectory(at: URL)
        /// The file does not tell its size.
        case bodyPartFileSizeNotAvailable(at: URL)
        /// Asking for the file's size failed.
        case bodyPartFileSizeQueryFailedWithError(forURL: URL, error: any Error)
        /// The file cannot be opened.
        case bodyPartInputStreamCreationFailed(for: URL)
        /// The output file cannot be opened.
        case outputStreamCreationFailed(for: URL)
        /// The output file is there already.
        case outputStreamFileAlreadyExists(at: URL)
        /// The output's URL is not a file's.
        case outputStreamURLInvalid(url: URL)
        /// Writing failed.
        case outputStreamWriteFailed(error: any Error)
        /// Reading a part failed, or gave another length than declared.
        case inputStreamReadFailed(error: any Error)
    }

    /// Why a `ParameterEncoding` failed.
    public enum ParameterEncodingFailureReason: Sendable {
        /// The request has no URL to append to.
        case missingURL
        /// The parameters are not JSON.
        case jsonEncodingFailed(error: any Error)
        /// An encoding of the user's failed.
        case customEncodingFailed(error: any Error)
    }

    /// Why a `ParameterEncoder` failed.
    public enum ParameterEncoderFailureReason: Sendable {
        /// What a request lacked.
        public enum RequiredComponent: Sendable, Equatable {
            /// The URL.
            case url
            /// A usable method.
            case httpMethod(rawValue: String)
        }

        /// The request lacks something the encoder needs.
        case missingRequiredComponent(RequiredComponent)
        /// The encoder failed.
        case encoderFailed(error: any Error)
    }

    /// Why a validator refused a response.
    public enum ResponseValidationFailureReason: Sendable {
        /// There is no downloaded file.
        case dataFileNil
        /// The downloaded file cannot be read.
        case dataFileReadFailed(at: URL)
        /// The response names no content type.
        case missingContentType(acceptableContentTypes: [String])
        /// The response's content type is not acceptable.
        case unacceptableContentType(acceptableContentTypes: [String], responseContentType: String)
        /// The status code is not acceptable.
        case unacceptableStatusCode(code: Int)
        /// A validator of the user's refused.
        case customValidationFailed(error: any Error)
    }

    /// Why a body could not be turned into a value.
    public enum ResponseSerializationFailureReason: Sendable {
        /// There was no body, and that was not allowed.
        case inputDataNilOrZeroLength
        /// There was no file.
        case inputFileNil
        /// The file cannot be read.
        case inputFileReadFailed(at: URL)
        /// The bytes are not text in that charset.
        case stringSerializationFailed(encoding: String.Encoding)
        /// The bytes are not JSON.
        case jsonSerializationFailed(error: any Error)
        /// A decoder failed.
        case decodingFailed(error: any Error)
        /// A serializer of the user's failed.
        case customSerializationFailed(error: any Error)
        /// The type has no value for an empty body.
        case invalidEmptyResponse(type: String)
    }

    /// Why a request cannot be sent as it is.
    public enum URLRequestValidationFailureReason: Sendable, Equatable {
        /// A `GET` carries a body, and `HTTPRequest.allowsBodyInGET` is off.
        case bodyDataInGETRequest(Data)
        /// The method or a field cannot go on the wire.
        case invalidSyntax(HTTPRequestError)
    }
}

extension Error {
    /// This error as a ``SessionError``, if it is one.
    public var asSessionError: SessionError? { self as? SessionError }

    /// This error as a ``SessionError``, or one made around it.
    func asSessionError(or make: (any Error) -> SessionError) -> SessionError {
        (self as? SessionError) ?? make(self)
    }
}

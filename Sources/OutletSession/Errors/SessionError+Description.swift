public import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletTransport

extension SessionError: CustomStringConvertible, LocalizedError {
    /// What failed, and why, in one line.
    public var description: String {
        switch self {
        case .createUploadableFailed(let error):
            "The body to upload could not be made: \(error)"
        case .createURLRequestFailed(let error):
            "The request could not be made: \(error)"
        case .downloadedFileMoveFailed(let error, let source, let destination):
            "The downloaded file could not be moved from \(source.path) to \(destination.path): \(error.fileReason)"
        case .explicitlyCancelled:
            "Request explicitly cancelled."
        case .invalidURL(let url):
            "URL is not valid: \(Redaction.standard.shortAddress("\(url)"))"
        case .multipartEncodingFailed(let reason):
            "Multipart encoding failed: \(reason)"
        case .parameterEncodingFailed(let reason):
            "Parameter encoding failed: \(reason)"
        case .parameterEncoderFailed(let reason):
            "Parameter encoder failed: \(reason)"
        case .requestAdaptationFailed(let error):
            "Request adaption failed with error: \(error)"
        case .requestRetryFailed(let retryError, let originalError):
            "Request retry failed with retry error: \(retryError), original error: \(originalError)"
        case .responseValidationFailed(let reason):
            reason.description
        case .responseSerializationFailed(let reason):
            reason.description
        case .serverTrustEvaluationFailed(let reason):
            "Server trust evaluation failed: \(reason)"
        case .sessionDeinitialized:
            "Session was deinitialized before the request finished; keep a reference to it."
        case .sessionInvalidated(let error):
            "Session was invalidated: \(error.map { "\($0)" } ?? "no error given")"
        case .sessionTaskFailed(let error):
            "\(error)"
        case .urlRequestValidationFailed(let reason):
            reason.description
        }
    }

    /// Same as ``description``.
    public var errorDescription: String? { description }
}

extension SessionError: CustomReflectable {
    /// Empty, because `dump` would show the URLs and bodies of which ``description`` hides secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SessionError.MultipartEncodingFailureReason: CustomStringConvertible {
    /// The part or file, and what is wrong with it.
    public var description: String {
        switch self {
        case .boundaryInvalid(let boundary):
            "boundary \(String(reflecting: boundary)): not 1 to 70 letters, digits and '()+_,-./:=?"
        case .bodyPartHeaderInvalid(let error): "\(error)"
        case .bodyPartURLInvalid(let url): "\(url): not a file URL"
        case .bodyPartFilenameInvalid(let url): "\(url): has no file name with an extension"
        case .bodyPartFileNotReachable(let url): "\(url.path): no such file"
        case .bodyPartFileNotReachableWithError(let url, let error):
            "\(url.path): \(error.fileReason)"
        case .bodyPartFileIsDirectory(let url): "\(url.path): is a directory"
        case .bodyPartFileSizeNotAvailable(let url): "\(url.path): its size is not known"
        case .bodyPartFileSizeQueryFailedWithError(let url, let error):
            "\(url.path): its size cannot be read: \(error.fileReason)"
        case .bodyPartInputStreamCreationFailed(let url): "\(url.path): cannot be opened"
        case .outputStreamCreationFailed(let url): "\(url.path): cannot be created"
        case .outputStreamFileAlreadyExists(let url): "\(url.path): exists already"
        case .outputStreamURLInvalid(let url): "\(url): not a file URL"
        case .outputStreamWriteFailed(let error): "writing failed: \(error)"
        case .inputStreamReadFailed(let error): "reading failed: \(error)"
        }
    }
}

extension SessionError.ParameterEncodingFailureReason: CustomStringConvertible {
    /// Why the encoding failed.
    public var description: String {
        switch self {
        case .missingURL: "the request has no URL"
        case .jsonEncodingFailed(let error): "JSON: \(error)"
        case .customEncodingFailed(let error): "\(error)"
        }
    }
}

extension SessionError.ParameterEncoderFailureReason: CustomStringConvertible {
    /// Why the encoder failed.
    public var description: String {
        switch self {
        case .missingRequiredComponent(.url): "the request has no URL"
        case .missingRequiredComponent(.httpMethod(let method)):
            "the request has no usable method: \(method)"
        case .encoderFailed(let error): "\(error)"
        }
    }
}

extension SessionError.ResponseValidationFailureReason: CustomStringConvertible {
    /// What the response has, and what is acceptable.
    public var description: String {
        switch self {
        case .dataFileNil: "Response could not be validated, there is no file."
        case .dataFileReadFailed(let url):
            "Response could not be validated, \(url.path) cannot be read."
        case .missingContentType(let types):
            "Response has no Content-Type; acceptable are \(types.joined(separator: ", "))."
        case .unacceptableContentType(let types, let type):
            "Response Content-Type \(Redaction.standard.quote(type)) is not among \(types.joined(separator: ", "))."
        case .unacceptableStatusCode(let code):
            "Response status code was unacceptable: \(code)."
        case .customValidationFailed(let error): "Response was refused by a validator: \(error)"
        }
    }
}

extension SessionError.ResponseSerializationFailureReason: CustomStringConvertible {
    /// Why the serializer failed.
    public var description: String {
        switch self {
        case .inputDataNilOrZeroLength:
            "Response could not be serialized, input data was nil or zero length."
        case .inputFileNil: "Response could not be serialized, there is no file."
        case .inputFileReadFailed(let url):
            "Response could not be serialized, \(url.path) cannot be read."
        case .stringSerializationFailed(let encoding):
            "Response is not text in \(encoding)."
        case .jsonSerializationFailed(let error as JSONSyntaxError): "Response is \(error)"
        case .jsonSerializationFailed(let error): "Response is not JSON: \(error)"
        case .decodingFailed(let error):
            "Response could not be decoded: \(SessionError.explain(decoding: error))"
        case .customSerializationFailed(let error): "Response could not be serialized: \(error)"
        case .invalidEmptyResponse(let type):
            "Response is empty, and \(type) has no empty value; conform it to EmptyResponse."
        }
    }
}

extension SessionError.URLRequestValidationFailureReason: CustomStringConvertible {
    /// Why the request is not valid.
    public var description: String {
        switch self {
        case .bodyDataInGETRequest(let data):
            "Invalid URLRequest: a GET request carries \(data.count) bytes of body (set allowsBodyInGET to send it)."
        case .invalidSyntax(let error): "Invalid request: \(error)"
        }
    }
}

extension SessionError {
    /// Describes a decoding error in one line: the coding path, and what was expected there.
    ///
    /// Both may contain keys and values of the response.
    static func explain(decoding error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        return TerminalText.visibleLine(explanation(of: error).shortened(toBytes: 1000))
    }

    private static func explanation(of error: DecodingError) -> String {
        func place(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
            let path = (context.codingPath + (key.map { [$0] } ?? []))
                .map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }
                .joined()
            return path.isEmpty ? "the top level" : path
        }
        switch error {
        case .typeMismatch(let type, let context):
            return "at \(place(context)): expected \(type). \(context.debugDescription)"
        case .valueNotFound(let type, let context):
            return "at \(place(context)): expected \(type), found null. \(context.debugDescription)"
        case .keyNotFound(let key, let context):
            return "at \(place(context, key)): the key is missing."
        case .dataCorrupted(let context):
            let cause = context.underlyingError.map { " (\($0))" } ?? ""
            return "at \(place(context)): \(context.debugDescription)\(cause)"
        @unknown default: return "\(error)"
        }
    }
}

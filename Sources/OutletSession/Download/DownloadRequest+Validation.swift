import FoundationEssentials
import OutletHTTP
import OutletTransport

extension DownloadRequest {
    /// Validates the response with a closure, after the validators added before.
    ///
    /// - Parameter validation: Called once for each attempt that received a response and did not
    ///   fail before, when the file is at its destination. The first failure ends the validation,
    ///   and is the error that retriers get.
    ///
    /// Thread: the request's finishing queue (see ``Request``).
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        download.withLock { $0.validators.append(validation) }
        return self
    }

    /// Accepts status codes 200 to 299, and content types in the request's `Accept` field.
    ///
    /// Without an `Accept` field, any content type is accepted.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300)
        return validate { request, response, fileURL in
            guard let types = request?.acceptedContentTypes else { return .success(()) }
            return Self.validate(types, response, fileURL)
        }
    }

    /// Accepts the given status codes; others fail with `unacceptableStatusCode`.
    ///
    /// - Parameter acceptableStatusCodes: Any sequence of codes, such as `200..<300`.
    @discardableResult
    public func validate<Codes: Sequence & Sendable>(
        statusCode acceptableStatusCodes: Codes
    ) -> Self where Codes.Element == Int {
        validate { _, response, _ in response.validate(statusCode: acceptableStatusCodes) }
    }

    /// Accepts the given content types; the content type of an empty file is not checked.
    ///
    /// Other types fail with `unacceptableContentType`, a response without a type with
    /// `missingContentType`.
    ///
    /// - Parameter acceptableContentTypes: Media types or ranges, such as `image/png` or `image/*`;
    ///   `*/*` accepts a response without a type, too. Evaluated for each attempt.
    @discardableResult
    public func validate<Types: Sequence & SendableMetatype>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> Types
    ) -> Self where Types.Element == String {
        validate { _, response, fileURL in
            Self.validate(Array(acceptableContentTypes()), response, fileURL)
        }
    }

    private static func validate(
        _ types: [String], _ response: HTTPResponse, _ fileURL: URL?
    ) -> ValidationResult {
        guard let fileURL else {
            return .failure(SessionError.responseValidationFailed(reason: .dataFileNil))
        }
        guard let size = PartFile.size(at: fileURL) else {
            return .failure(
                SessionError.responseValidationFailed(reason: .dataFileReadFailed(at: fileURL)))
        }
        return MediaType.validate(types, response, isEmpty: size == 0)
    }

    func validateFile() {
        let validators = download.withLock { $0.validators }
        let (request, response) = mutable.withLock {
            ($0.history.lastRequest, $0.attempt.response)
        }
        guard let response else { return }
        let fileURL = fileURL
        validators.forEach { validation in
            guard error == nil else { return }
            let result = validation(request, response, fileURL)
            refuse(result)
            monitors?.observe(
                .didValidate(
                    Event.Validation(
                        request: request, response: response, fileURL: fileURL, result: result)),
                of: self)
        }
    }
}

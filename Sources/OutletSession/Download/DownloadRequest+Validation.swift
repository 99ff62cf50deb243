import FoundationEssentials
import OutletHTTP
import OutletTransport

extension DownloadRequest {
    /// Judges the response with a closure, after those added before; the first failure wins.
    ///
    /// Thread: where the request is being finished; the file is in its place.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        download.withLock { $0.validators.append(validation) }
        return self
    }

    /// Accepts status codes 200 to 299, and content types that the request's `Accept` names.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300)
        return validate { request, response, fileURL in
            guard let types = request?.acceptedContentTypes else { return .success(()) }
            return Self.validate(types, response, fileURL)
        }
    }

    /// Accepts those status codes.
    @discardableResult
    public func validate<Codes: Sequence & Sendable>(
        statusCode acceptableStatusCodes: Codes
    ) -> Self where Codes.Element == Int {
        validate { _, response, _ in response.validate(statusCode: acceptableStatusCodes) }
    }

    /// Accepts those content types; an empty file has none to check.
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

    func judge() {
        let validators = download.withLock { $0.validators }
        let (request, response) = mutable.withLock {
            ($0.history.requests.last, $0.attempt.response)
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

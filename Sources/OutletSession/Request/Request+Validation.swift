import OutletHTTP

extension Request {
    /// Applies a validator's result; the first failure is the request's error.
    func refuse(_ verdict: ValidationResult) {
        guard case .failure(let error) = verdict else { return }
        note(
            error.asSessionError {
                .responseValidationFailed(reason: .customValidationFailed(error: $0))
            })
    }
}

extension HTTPRequest {
    /// The content types in `Accept`; `nil` without the field.
    var acceptedContentTypes: [String]? {
        headers.value(for: "Accept").map { $0.listItems().map(String.init) }
    }
}

extension HTTPResponse {
    /// Checks whether the status code is acceptable.
    func validate(
        statusCode acceptable: some Sequence<Int>
    ) -> Request.ValidationResult {
        acceptable.contains(statusCode)
            ? .success(())
            : .failure(
                SessionError.responseValidationFailed(
                    reason: .unacceptableStatusCode(code: statusCode)))
    }
}

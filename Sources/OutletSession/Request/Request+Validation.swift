import OutletHTTP

extension Request {
    /// Takes a validator's verdict; the first failure is the request's error.
    func refuse(_ verdict: ValidationResult) {
        guard case .failure(let error) = verdict else { return }
        note(
            error.asSessionError {
                .responseValidationFailed(reason: .customValidationFailed(error: $0))
            })
    }
}

extension HTTPRequest {
    /// The content types that `Accept` names; `nil` without the field.
    var acceptedContentTypes: [String]? {
        headers.value(for: "Accept").map { $0.listItems().map(String.init) }
    }
}

extension HTTPResponse {
    /// Whether the status code is among those acceptable.
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

import OutletHTTP

extension DataStreamRequest {
    /// Validates the response with a closure, after the validators added before.
    ///
    /// Called when the body has been received: handlers have got pieces of a refused response by
    /// then. To check the head before the body, use `onHTTPResponse(on:perform:)`.
    ///
    /// - Parameter validation: Called once for each attempt that received a response and did not
    ///   fail before. The first failure ends the validation, and is the error that retriers get.
    ///
    /// Thread: the request's finishing queue (see ``Request``).
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        add(Validator(isQuick: false, validation: validation))
    }

    /// Accepts status codes 200 to 299, and content types in the request's `Accept` field.
    ///
    /// Without an `Accept` field, any content type is accepted.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300)
        return add(
            Validator(isQuick: true) { request, response in
                guard let types = request?.acceptedContentTypes else { return .success(()) }
                return MediaType.validate(types, response, isEmpty: false)
            })
    }

    /// Accepts the given status codes; others fail with `unacceptableStatusCode`.
    ///
    /// - Parameter acceptableStatusCodes: Any sequence of codes, such as `200..<300`.
    @discardableResult
    public func validate<Codes: Sequence & Sendable>(
        statusCode acceptableStatusCodes: Codes
    ) -> Self where Codes.Element == Int {
        add(
            Validator(isQuick: true) { _, response in
                response.validate(statusCode: acceptableStatusCodes)
            })
    }

    /// Accepts the given content types.
    ///
    /// Other types fail with `unacceptableContentType`, a response without a type with
    /// `missingContentType`.
    ///
    /// - Parameter acceptableContentTypes: Media types or ranges, such as `text/plain` or `text/*`;
    ///   `*/*` accepts a response without a type, too. Evaluated for each attempt.
    @discardableResult
    public func validate<Types: Sequence & SendableMetatype>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> Types
    ) -> Self where Types.Element == String {
        validate { _, response in
            MediaType.validate(Array(acceptableContentTypes()), response, isEmpty: false)
        }
    }
}

import OutletHTTP

extension DataRequest {
    /// Accepts status codes 200 to 299, and content types in the request's `Accept` field.
    ///
    /// Without an `Accept` field, any content type is accepted.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300)
        return add(
            Validator(isQuick: true) { request, response, data in
                guard let types = request?.acceptedContentTypes else { return .success(()) }
                return MediaType.validate(types, response, isEmpty: data?.isEmpty != false)
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
            Validator(isQuick: true) { _, response, _ in
                response.validate(statusCode: acceptableStatusCodes)
            })
    }

    /// Accepts the given content types; the content type of an empty body is not checked.
    ///
    /// Other types fail with `unacceptableContentType`, a response without a type with
    /// `missingContentType`.
    ///
    /// - Parameter acceptableContentTypes: Media types or ranges, such as `application/json` or
    ///   `image/*`; `*/*` accepts a response without a type, too. Evaluated for each attempt.
    @discardableResult
    public func validate<Types: Sequence & SendableMetatype>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> Types
    ) -> Self where Types.Element == String {
        validate { _, response, data in
            MediaType.validate(
                Array(acceptableContentTypes()), response, isEmpty: data?.isEmpty != false)
        }
    }
}

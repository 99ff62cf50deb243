import OutletHTTP

extension DataRequest {
    /// Accepts status codes 200 to 299, and content types that the request's `Accept` names.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300)
        return add(
            Validator(isQuick: true) { request, response, data in
                guard let types = request?.acceptedContentTypes else { return .success(()) }
                return MediaType.validate(types, response, isEmpty: data?.isEmpty != false)
            })
    }

    /// Accepts those status codes.
    @discardableResult
    public func validate<Codes: Sequence & Sendable>(
        statusCode acceptableStatusCodes: Codes
    ) -> Self where Codes.Element == Int {
        add(
            Validator(isQuick: true) { _, response, _ in
                response.validate(statusCode: acceptableStatusCodes)
            })
    }

    /// Accepts those content types; an empty body has none to check.
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

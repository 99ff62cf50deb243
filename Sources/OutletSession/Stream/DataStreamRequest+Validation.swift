import OutletHTTP

extension DataStreamRequest {
    /// Judges the response with a closure, after those added before; the first failure wins.
    ///
    /// Thread: where the request is being finished: pieces of a refused response have been handed
    /// over by then. To look first, use `onHTTPResponse(on:perform:)`.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        add(Validator(isQuick: false, validation: validation))
    }

    /// Accepts status codes 200 to 299, and content types that the request's `Accept` names.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300)
        return add(
            Validator(isQuick: true) { request, response in
                guard let types = request?.acceptedContentTypes else { return .success(()) }
                return MediaType.validate(types, response, isEmpty: false)
            })
    }

    /// Accepts those status codes.
    @discardableResult
    public func validate<Codes: Sequence & Sendable>(
        statusCode acceptableStatusCodes: Codes
    ) -> Self where Codes.Element == Int {
        add(
            Validator(isQuick: true) { _, response in
                response.validate(statusCode: acceptableStatusCodes)
            })
    }

    /// Accepts those content types.
    @discardableResult
    public func validate<Types: Sequence & SendableMetatype>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> Types
    ) -> Self where Types.Element == String {
        validate { _, response in
            MediaType.validate(Array(acceptableContentTypes()), response, isEmpty: false)
        }
    }
}

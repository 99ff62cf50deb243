import OutletHTTP

/// A request made of a URL, a method and headers, without a request modifier.
///
/// Converted on the thread that starts the request, even if the URL is a custom `URLConvertible`.
struct PlainRequest: URLRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let headers: HTTPHeaders?

    func asURLRequest() throws -> HTTPRequest {
        try HTTPRequest(url: url, method: method, headers: headers)
    }
}

/// A request that a request modifier changes.
struct ModifiedRequest: URLRequestConvertible {
    let base: any URLRequestConvertible
    let modifier: @Sendable (inout HTTPRequest) throws -> Void

    func asURLRequest() throws -> HTTPRequest {
        var request = try base.asURLRequest()
        try modifier(&request)
        return request
    }
}

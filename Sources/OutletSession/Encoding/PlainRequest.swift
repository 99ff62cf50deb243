import OutletHTTP

/// A request made of values alone: making it runs no code of the user's.
struct PlainRequest: URLRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let headers: HTTPHeaders?

    func asURLRequest() throws -> HTTPRequest {
        try HTTPRequest(url: url, method: method, headers: headers)
    }
}

/// A request that a closure of the user's changes.
struct ModifiedRequest: URLRequestConvertible {
    let base: any URLRequestConvertible
    let modifier: @Sendable (inout HTTPRequest) throws -> Void

    func asURLRequest() throws -> HTTPRequest {
        var request = try base.asURLRequest()
        try modifier(&request)
        return request
    }
}

public import FoundationEssentials
public import OutletHTTP

extension String: URLConvertible {
    /// Returns the URL of this text, which must be percent-encoded already.
    ///
    /// - Throws: ``SessionError/invalidURL(url:)`` when the text is not a URL.
    public func asURL() throws -> URL {
        guard let url = ParsedURLCache.shared.url(self) else {
            throw SessionError.invalidURL(url: self)
        }
        return url
    }
}

extension URL: URLConvertible {
    /// Returns the URL itself; never throws.
    public func asURL() throws -> URL { self }
}

extension URLComponents: URLConvertible {
    /// Returns the URL of these components.
    ///
    /// - Throws: ``SessionError/invalidURL(url:)`` when they do not form a URL.
    public func asURL() throws -> URL {
        guard let url else { throw SessionError.invalidURL(url: self) }
        return url
    }
}

/// A type that can be converted to a request; converted again for every attempt.
public protocol URLRequestConvertible: Sendable {
    /// Returns the request.
    ///
    /// - Throws: Any error; the request fails with it inside
    ///   ``SessionError/createURLRequestFailed(error:)``, or with a ``SessionError`` as it is.
    ///   Retriers are called.
    ///
    /// Thread: the session's request queue.
    func asURLRequest() throws -> HTTPRequest
}

extension URLRequestConvertible {
    /// The request; `nil` when ``asURLRequest()`` throws.
    public var urlRequest: HTTPRequest? { try? asURLRequest() }
}

extension HTTPRequest: URLRequestConvertible {
    /// Returns the request itself; never throws.
    public func asURLRequest() throws -> HTTPRequest { self }
}

extension HTTPRequest {
    /// Makes a request for anything that can be converted to a URL.
    ///
    /// - Parameters:
    ///   - url: Converted at once, on the caller's thread.
    ///   - method: The request method.
    ///   - headers: The request's fields; none if `nil`.
    /// - Throws: What ``URLConvertible/asURL()`` throws.
    @_disfavoredOverload  // because a URL needs no conversion, and its initialiser does not throw
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
        let url = try url.asURL()
        self.init(url: url, method: method, headers: headers ?? HTTPHeaders(), body: .none)
    }

    /// Checks that the request can be sent.
    ///
    /// - Throws: ``SessionError/urlRequestValidationFailed(reason:)`` with `bodyDataInGETRequest`
    ///   when a `GET` has a body in memory and `allowsBodyInGET` is off, or with `invalidSyntax`
    ///   when the method or a field is not valid.
    public func validate() throws {
        if isPlainlyValid { return }
        if hasBody, method == .get, !allowsBodyInGET, let data = body.data {
            throw SessionError.urlRequestValidationFailed(reason: .bodyDataInGETRequest(data))
        }
        do {
            try checkFields()
        } catch {
            throw SessionError.urlRequestValidationFailed(reason: .invalidSyntax(error))
        }
    }
}

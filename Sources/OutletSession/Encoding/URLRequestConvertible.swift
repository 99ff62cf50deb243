public import FoundationEssentials
public import OutletHTTP

extension String: URLConvertible {
    /// The URL this text spells; nothing in it is escaped on the way.
    public func asURL() throws -> URL {
        guard let url = ParsedURLCache.shared.url(self) else {
            throw SessionError.invalidURL(url: self)
        }
        return url
    }
}

extension URL: URLConvertible {
    /// The URL itself.
    public func asURL() throws -> URL { self }
}

extension URLComponents: URLConvertible {
    /// The URL these components make.
    public func asURL() throws -> URL {
        guard let url else { throw SessionError.invalidURL(url: self) }
        return url
    }
}

/// Something that is, or can become, a request; asked again at every attempt.
public protocol URLRequestConvertible: Sendable {
    /// The request.
    ///
    /// - Throws: Any error; the request fails with
    ///   ``SessionError/createURLRequestFailed(error:)`` around it.
    ///
    /// Thread: the session's request queue, or the caller's when nothing else needs a thread.
    func asURLRequest() throws -> HTTPRequest
}

extension URLRequestConvertible {
    /// The request, or `nil` when it cannot be made.
    public var urlRequest: HTTPRequest? { try? asURLRequest() }
}

extension HTTPRequest: URLRequestConvertible {
    /// The request itself.
    public func asURLRequest() throws -> HTTPRequest { self }
}

extension HTTPRequest {
    /// Makes a request from what can become a URL.
    ///
    /// - Throws: What ``URLConvertible/asURL()`` throws.
    @_disfavoredOverload  // because a URL needs no conversion, and its initialiser does not throw
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
        let url = try url.asURL()
        self.init(url: url, method: method, headers: headers ?? HTTPHeaders(), body: .none)
    }

    /// Refuses what cannot be sent: a `GET` with a body, odd methods and fields.
    ///
    /// - Throws: ``SessionError/urlRequestValidationFailed(reason:)``.
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

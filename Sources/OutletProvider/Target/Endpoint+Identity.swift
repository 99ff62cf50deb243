import FoundationEssentials
public import OutletHTTP

/// Endpoints are equal when method, URL, headers and body are equal; JSON bodies are compared
/// without regard to the order of members. The sample response is not compared.
extension Endpoint: Hashable {
    private enum Identity: Hashable {
        case request(HTTPRequest)
        case json(HTTPRequest, JSONValue)
        /// A request whose body is a file.
        case upload(HTTPRequest, URL)
        /// A request whose body is a multipart form.
        case form(HTTPRequest, HTTPTask.MultipartFormData)
        /// An endpoint from which no request can be built.
        case address(String, HTTPMethod, [String: String]?)
    }

    private var identity: Identity {
        guard var request = try? urlRequest() else {
            return .address(url, method, httpHeaderFields)
        }
        if case .uploadFile(let file) = task { return .upload(request, file) }
        if let form = task.form { return .form(request, form) }
        guard let data = request.httpBody, let value = try? JSONValue(parsing: data) else {
            return .request(request)
        }
        request.body = .none
        return .json(request, value.sorted)
    }

    /// Compares method, URL, headers and body.
    public static func == (a: Endpoint, b: Endpoint) -> Bool { a.identity == b.identity }

    /// Hashes method, URL, headers and body.
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension JSONValue {
    /// The same value with the members of all objects sorted by name.
    fileprivate var sorted: JSONValue {
        (try? JSONValue(parsing: serialized(JSONFormat(sortsMembers: true)))) ?? self
    }
}

extension HTTPMethod {
    /// Whether requests of this method may have a multipart form as body: POST, PUT, PATCH,
    /// CONNECT.
    public var supportsMultipart: Bool {
        switch self {
        case .post, .put, .patch, .connect: true
        default: false
        }
    }
}

import FoundationEssentials
public import OutletHTTP

/// Endpoints are equal when they ask for the same: method, address, fields, and the bytes of the body,
/// members of JSON in any order. What a stub would answer is no part of it.
extension Endpoint: Hashable {
    private enum Identity: Hashable {
        case request(HTTPRequest)
        case json(HTTPRequest, JSONValue)
        /// What is sent from a file.
        case upload(HTTPRequest, URL)
        /// What is sent as a form.
        case form(HTTPRequest, HTTPTask.MultipartFormData)
        /// What cannot be made is known by what it would be made of.
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

    /// Whether both ask for the same.
    public static func == (a: Endpoint, b: Endpoint) -> Bool { a.identity == b.identity }

    /// Hashes what is asked for.
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension JSONValue {
    /// The same with the members of all objects in order.
    fileprivate var sorted: JSONValue {
        (try? JSONValue(parsing: serialized(JSONFormat(sortsMembers: true)))) ?? self
    }
}

extension HTTPMethod {
    /// Whether requests of this method may carry a form of several parts.
    public var supportsMultipart: Bool {
        switch self {
        case .post, .put, .patch, .connect: true
        default: false
        }
    }
}

import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The fields that the transport makes of a request, shown to plugins as if the request had them.
struct WireFields {
    private var added: [String] = []

    /// Whether a field is the transport's, so that no plugin may set it on the wire.
    static func isProtected(_ name: String) -> Bool {
        name.equalsIgnoringCase("Host") || name.equalsIgnoringCase("Content-Length")
    }

    /// A request with the fields that it is sent with.
    ///
    /// - Parameter credential: What it is sent with unasked.
    mutating func shown(_ request: HTTPRequest, sentWith credential: Credential?) -> HTTPRequest {
        var shown = request
        if request.headers["Host"] == nil, let host = request.url.flatMap(Self.authority) {
            add(HTTPHeader(name: "Host", value: host), to: &shown)
        }
        if request.headers["Content-Length"] == nil, let length = Self.length(of: request) {
            add(HTTPHeader(name: "Content-Length", value: "\(length)"), to: &shown)
        }
        if request.headers["Authorization"] == nil, let value = credential?.unaskedField {
            add(HTTPHeader(name: "Authorization", value: value), to: &shown)
        }
        return shown
    }

    private mutating func add(_ field: HTTPHeader, to request: inout HTTPRequest) {
        request.headers.append(field)
        added.append(field.name)
    }

    /// Leaves to the transport again what was added, as far as a plugin has not set it.
    func hidden(_ request: HTTPRequest, shown: HTTPRequest) -> HTTPRequest {
        var hidden = request
        for name in added where request.headers.values(for: name) == shown.headers.values(for: name)
        {
            hidden.headers.remove(name: name)
        }
        return hidden
    }

    private static func authority(of url: URL) -> String? {
        guard let origin = try? Origin(url) else { return nil }
        let isUsual = origin.port == (origin.isSecure ? 443 : 80)
        return isUsual ? origin.bracketedHost : "\(origin.bracketedHost):\(origin.port)"
    }

    private static func length(of request: HTTPRequest) -> UInt64? {
        guard request.body.isNone else { return BodyReader.length(of: request.body) }
        // Methods that usually have a body say that this one is empty (RFC 9110 §8.6).
        switch request.method {
        case .post, .put, .patch: return 0
        default: return nil
        }
    }
}

extension Credential {
    /// The field that it is sent in where nobody has asked.
    fileprivate var unaskedField: String? {
        switch scheme {
        case .basic:
            HTTPHeader.authorization(username: user, password: password).value
        case .bearer: HTTPHeader.authorization(bearerToken: password).value
        default: nil
        }
    }
}

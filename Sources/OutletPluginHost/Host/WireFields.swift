import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The fields that the transport makes of a request, shown to plugins as if the request had them.
struct WireFields: Sendable {
    private let credential: Credential?
    /// What was added; `nil` until a plugin has looked.
    private var added: [HTTPHeader]?

    /// - Parameter credential: What the request is sent with unasked.
    init(sentWith credential: Credential?) { self.credential = credential }

    /// Whether a field is the transport's, so that no plugin may set it on the wire.
    static func isProtected(_ name: String) -> Bool {
        name.equalsIgnoringCase("Host") || name.equalsIgnoringCase("Content-Length")
    }

    /// Gives a request the fields that it is sent with; once.
    mutating func show(in request: inout HTTPRequest) {
        guard added == nil else { return }
        var missing: [HTTPHeader] = []
        if request.headers["Host"] == nil, let host = request.url.flatMap(Self.authority) {
            missing.append(HTTPHeader(name: "Host", value: host))
        }
        if request.headers["Content-Length"] == nil, let length = Self.length(of: request) {
            missing.append(HTTPHeader(name: "Content-Length", value: "\(length)"))
        }
        if request.headers["Authorization"] == nil, let value = credential?.unaskedField {
            missing.append(HTTPHeader(name: "Authorization", value: value))
        }
        for field in missing { request.headers.append(field) }
        added = missing
    }

    /// Leaves to the transport again what was added, as far as a plugin has not set it.
    func hide(in request: inout HTTPRequest) {
        for field in added ?? [] where request.headers.values(for: field.name) == [field.value] {
            request.headers.remove(name: field.name)
        }
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
    /// The field in which it is sent without a challenge.
    fileprivate var unaskedField: String? {
        switch scheme {
        case .basic:
            HTTPHeader.authorization(username: user, password: password).value
        case .bearer: HTTPHeader.authorization(bearerToken: password).value
        default: nil
        }
    }
}

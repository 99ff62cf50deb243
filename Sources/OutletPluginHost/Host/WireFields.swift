import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The header fields that the transport adds to a request, shown to plugins as part of the request.
struct WireFields: Sendable {
    /// In a box, because hooks copy it, and usually there is none.
    private let credential: Boxed<Credential>?
    /// The fields that ``show(in:)`` has added; `nil` before its first call.
    private var added: [HTTPHeader]?

    /// Creates the fields without adding them to a request.
    ///
    /// - Parameter credential: The credential that the request is sent with before any challenge.
    init(sentWith credential: Credential?) { self.credential = credential.map { Boxed($0) } }

    /// Whether only the transport may set a field, so that `finalize` hooks may not.
    static func isProtected(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        name.equalsIgnoringCase("Host") || name.equalsIgnoringCase("Content-Length")
    }

    /// Adds the fields that the request does not have; only the first call has an effect.
    mutating func show(in request: inout HTTPRequest) {
        guard added == nil else { return }
        var missing: [HTTPHeader] = []
        if request.headers["Host"] == nil, let host = request.url.flatMap(Self.authority) {
            missing.append(HTTPHeader(name: "Host", value: host))
        }
        if request.headers["Content-Length"] == nil, let length = Self.length(of: request) {
            missing.append(HTTPHeader(name: "Content-Length", value: "\(length)"))
        }
        if request.headers["Authorization"] == nil,
            let value = credential?.value.preemptiveAuthorization
        {
            missing.append(HTTPHeader(name: "Authorization", value: value))
        }
        for field in missing { request.headers.append(field) }
        added = missing
    }

    /// Removes the added fields, except those that a plugin has changed since.
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
        // Methods that usually have a body send `Content-Length: 0` without one (RFC 9110 §8.6).
        switch request.method {
        case .post, .put, .patch: return 0
        default: return nil
        }
    }
}

extension Credential {
    /// The value of `Authorization` without a challenge; `nil` if the scheme needs one.
    fileprivate var preemptiveAuthorization: String? {
        switch scheme {
        case .basic:
            HTTPHeader.authorization(username: user, password: password).value
        case .bearer: HTTPHeader.authorization(bearerToken: password).value
        default: nil
        }
    }
}

package import OutletHTTP

extension HTTPResponse {
    /// Whether no other head follows (RFC 9110 §15.2).
    package var isFinal: Bool { statusCode >= 200 || statusCode == 101 }

    /// Whether this redirects to somewhere (RFC 9110 §15.4); 304 and 300 do not.
    package var isRedirect: Bool {
        switch statusCode {
        case 301, 302, 303, 307, 308: !headers.values(for: "Location").isEmpty
        default: false
        }
    }
}

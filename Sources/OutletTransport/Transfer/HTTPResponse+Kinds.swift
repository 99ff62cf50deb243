package import OutletHTTP

extension HTTPResponse {
    /// Whether no other head follows (RFC 9110 §15.2).
    package var isFinal: Bool { statusCode >= 200 || statusCode == 101 }

    /// Whether this is a redirect with a `Location` (RFC 9110 §15.4); 300 and 304 are none.
    package var isRedirect: Bool {
        switch statusCode {
        case 301, 302, 303, 307, 308: !headers.values(for: "Location").isEmpty
        default: false
        }
    }
}

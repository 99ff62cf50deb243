internal import CPublicSuffix

/// The public suffix list (publicsuffix.org): domains under which anybody can register names.
///
/// Uses the system's list (Debian's `publicsuffix`) if it is newer than the one built into libpsl.
///
/// Thread: any; the list is only read.
package enum PublicSuffixList {
    // because libpsl's context does not change after it is made; it is never freed.
    private nonisolated(unsafe) static let list = psl_latest(nil)

    /// Whether a domain is a public suffix, such as `co.uk`, `github.io` or `localhost`.
    ///
    /// - Parameter domain: The domain in lower case, without a dot at either end.
    package static func contains(_ domain: String) -> Bool {
        psl_is_public_suffix(list, domain) != 0
    }

    /// Returns the registered part of a domain, such as `example.co.uk` of `www.example.co.uk`.
    ///
    /// - Parameter domain: The domain in lower case, without a dot at either end.
    /// - Returns: `nil` if the domain is a public suffix itself.
    package static func registrableDomain(of domain: String) -> String? {
        // libpsl returns a pointer into the string that it was passed.
        domain.withCString { name in
            psl_registrable_domain(list, name).map { String(cString: $0) }
        }
    }
}

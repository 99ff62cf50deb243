internal import CPublicSuffix

/// The public suffix list (publicsuffix.org): domains under which anybody may register names.
///
/// The system's list where there is a newer one than libpsl's own (Debian's `publicsuffix`).
///
/// Thread: any; the list is only read.
package enum PublicSuffixList {
    // because libpsl's context is not changed after it was made; it stays for good.
    private nonisolated(unsafe) static let list = psl_latest(nil)

    /// Whether everybody may register names under that domain: `co.uk`, `github.io`, `localhost`.
    ///
    /// - Parameter domain: Lower case, without a dot at either end.
    package static func contains(_ domain: String) -> Bool {
        psl_is_public_suffix(list, domain) != 0
    }

    /// The part of a name that somebody has registered: `example.co.uk` of `www.example.co.uk`.
    ///
    /// - Returns: `nil` for what is a public suffix itself.
    package static func registrableDomain(of domain: String) -> String? {
        // libpsl answers with a place inside the name it was given.
        domain.withCString { name in
            psl_registrable_domain(list, name).map { String(cString: $0) }
        }
    }
}

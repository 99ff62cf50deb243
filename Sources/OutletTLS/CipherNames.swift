import COpenSSL

/// Finds unknown names in cipher lists, which OpenSSL ignores silently.
package enum CipherNames {
    /// Returns the first element of a cipher list (ciphers(1)) that OpenSSL does not know.
    ///
    /// Elements that remove or move ciphers (`!`, `-`, `+`) are not checked, because lists often
    /// remove ciphers that OpenSSL no longer has.
    ///
    /// - Returns: `nil` if all are known; an empty text if the list is empty or selects no cipher.
    package static func unknown(inList list: String) -> String? {
        let parts = list.utf8.split { separators.contains($0) }
        guard !parts.isEmpty else { return "" }
        for part in parts {
            guard let first = part.first, !"!-+@".utf8.contains(first) else { continue }
            let text = String(decoding: part, as: UTF8.self)
            guard let context = TLSContext(), !context.use(text) else { continue }
            ERR_clear_error()
            return text
        }
        guard let context = TLSContext(), !context.use(list) else { return nil }
        ERR_clear_error()
        return ""
    }

    /// Returns the first cipher suite of TLS 1.3 that OpenSSL does not know.
    ///
    /// - Parameter suites: The names, separated by `:`.
    /// - Returns: `nil` if all are known; an empty text if there is no name.
    package static func unknown(inSuites suites: String) -> String? {
        let names = suites.utf8.split(separator: UInt8(ascii: ":"))
        guard !names.isEmpty else { return "" }
        return names.lazy.map { String(decoding: $0, as: UTF8.self) }.first { !isSuite($0) }
    }

    private static func isSuite(_ name: String) -> Bool {
        guard let context = TLSContext() else { return true }
        defer { ERR_clear_error() }
        return context.useSuites(name) && context.suites.contains(name)
    }

    private static let separators = Array(":, ;".utf8)
}

import COpenSSL

/// Looks through lists of ciphers for what OpenSSL would pass over in silence.
package enum CipherNames {
    /// The first part of a cipher list (ciphers(1)) that names nothing that is known.
    ///
    /// What a part takes out, or moves to the end, need not be known: lists take out what OpenSSL
    /// has long forgotten.
    ///
    /// - Returns: `nil` when all are known; an empty text for a list that leaves none.
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

    /// The first of the cipher suites of TLS 1.3 that is not known.
    ///
    /// - Parameter suites: Their names, separated by `:`.
    /// - Returns: `nil` when all are known; an empty text for none.
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

import Glibc
import OutletTransport

/// The environment variables that a transport reads, copied once.
struct Environment: Sendable, ExpressibleByDictionaryLiteral {
    static let ofProxies = [
        "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
        "NO_PROXY",
    ]
    static let ofAuthorities = ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"]
    static let ofKeyLog = "SSLKEYLOGFILE"
    static let ofWireLog = "OUTLET_DEBUG"

    /// The variables whose values are UTF-8.
    private(set) var texts: [String: String] = [:]
    /// The variables whose values are not UTF-8.
    ///
    /// Replacing invalid bytes would name another file or proxy, so ``check(_:)`` throws instead.
    private var unreadable: Set<String> = []

    init(dictionaryLiteral elements: (String, String)...) {
        texts = Dictionary(elements) { _, last in last }
    }

    /// A copy of the process's current variables.
    static var current: Environment {
        var environment = Environment()
        for name in ofProxies + ofAuthorities + [ofKeyLog, ofWireLog] {
            guard let value = getenv(name) else { continue }
            if let text = String(validatingCString: value) {
                environment.texts[name] = text
            } else {
                environment.unreadable.insert(name)
            }
        }
        return environment
    }

    /// Checks that variables are not set to bytes other than UTF-8.
    ///
    /// - Throws: `TransferError` with code `badConfiguration` for the first that is.
    func check(_ names: [String]) throws(TransferError) {
        for name in names where unreadable.contains(name) {
            throw .setting(
                name, "the variable's value is not UTF-8",
                advice: "set it to text in UTF-8, or unset it")
        }
    }
}

import Glibc
import OutletTransport

/// The variables of the process that a transport reads, as they were at one moment.
struct Environment: Sendable, ExpressibleByDictionaryLiteral {
    static let ofProxies = [
        "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
        "NO_PROXY",
    ]
    static let ofAuthorities = ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"]
    static let ofKeyLog = "SSLKEYLOGFILE"
    static let ofWireLog = "OUTLET_DEBUG"

    /// Those that are set to text.
    private(set) var texts: [String: String] = [:]
    /// Those that are set to something else: repaired, they would name another file or proxy.
    private var unreadable: Set<String> = []

    init(dictionaryLiteral elements: (String, String)...) {
        texts = Dictionary(elements) { _, last in last }
    }

    /// The process's own.
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

    /// Refuses variables that are set to bytes which are no text.
    func check(_ names: [String]) throws(TransferError) {
        for name in names where unreadable.contains(name) {
            throw .setting(
                name, "the variable's value is not UTF-8",
                advice: "set it to text in UTF-8, or unset it")
        }
    }
}

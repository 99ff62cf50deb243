import OutletSession

/// Which proxy an address goes through, from the settings and the environment.
///
/// libcurl would read the environment for every request, on the loop's thread, while the program
/// may be changing it; so it is read once here and libcurl always gets an explicit answer.
struct ProxyResolver: Sendable {
    private let http: String
    private let https: String
    private let exceptions: [String]
    /// Whether no address at all goes through a proxy.
    let isEmpty: Bool

    /// All proxies, as they were written.
    var all: [String] { [http, https].filter { !$0.isEmpty } }

    /// Resolves by a policy.
    ///
    /// - Parameter environment: The process's environment. `HTTP_PROXY` in capitals is ignored, as
    ///   CGI programs have it set by their clients' `Proxy` header (CVE-2016-5385).
    init(_ policy: ProxyPolicy, environment: [String: String]) {
        switch policy {
        case .none:
            http = ""
            https = ""
            exceptions = []
        case .url(let url, let except):
            http = url
            https = url
            exceptions = except.compactMap(Self.normalized)
        case .environment:
            func first(_ names: String...) -> String {
                names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
            }
            http = first("http_proxy", "all_proxy", "ALL_PROXY")
            https = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
            exceptions = first("no_proxy", "NO_PROXY")
                .split { $0 == "," || $0 == " " || $0 == "\t" }
                .compactMap { Self.normalized(String($0)) }
        }
        isEmpty = http.isEmpty && https.isEmpty
    }

    /// The proxy's URL; empty for a direct connection.
    func proxy(host: String, port: Int, isSecure: Bool) -> String {
        let proxy = isSecure ? https : http
        guard !proxy.isEmpty, !exceptions.isEmpty else { return proxy }
        var name = host.lowercased()
        if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
        if name.hasSuffix(".") { name.removeLast() }
        return exceptions.contains { Self.matches($0, name, port) } ? "" : proxy
    }

    /// A proxy's URL without user name and password.
    static func withoutCredentials(_ proxy: String) -> String {
        let start = proxy.firstRange(of: "://")?.upperBound ?? proxy.startIndex
        guard let at = proxy[start...].lastIndex(of: "@") else { return proxy }
        return String(proxy[..<start]) + String(proxy[proxy.index(after: at)...])
    }

    private static func normalized(_ pattern: String) -> String? {
        var text = pattern.lowercased()
        if text.hasPrefix("*.") { text.removeFirst() }
        if text.hasPrefix("."), text.count > 1 { text.removeFirst() }
        if text.hasSuffix("."), text.count > 1 { text.removeLast() }
        return text.isEmpty ? nil : text
    }

    /// A pattern is `*`, a name that covers its subdomains, an address, or an IPv4 or IPv6 network
    /// in CIDR form; a name or an address may carry a port.
    private static func matches(_ pattern: String, _ host: String, _ port: Int) -> Bool {
        if pattern == "*" || pattern == host { return true }
        if host.hasSuffix("." + pattern) { return true }
        if let slash = pattern.lastIndex(of: "/"),
            let bits = Int(pattern[pattern.index(after: slash)...]),
            let network = InternetAddress(String(pattern[..<slash])),
            let address = InternetAddress(host)
        {
            return address.isInside(network, bits: bits)
        }
        guard let colon = pattern.lastIndex(of: ":"),
            let wanted = Int(pattern[pattern.index(after: colon)...]), wanted == port,
            !pattern[..<colon].contains(":") || pattern.hasPrefix("[")
        else { return false }
        let name = pattern[..<colon].trimmingBrackets()
        return name == host || host.hasSuffix("." + name)
    }
}

extension Substring {
    fileprivate func trimmingBrackets() -> String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
    }
}

import OutletHTTP
import OutletTransport

/// Chooses the proxy for an origin, from the settings and the environment.
///
/// libcurl would read the environment for every request, on the loop's thread, while the program
/// may be changing it. So this type reads it once, and libcurl always gets an explicit value.
struct ProxyResolver: Sendable {
    private let http: String
    private let https: String
    private let exceptions: [ProxyException]
    /// Whether all connections are direct.
    let isEmpty: Bool

    /// The errors of transfers through proxies whose addresses cannot be used, by these addresses.
    private let faults: [String: TransferError]
    /// What to check where a proxy is not found.
    let advice: String

    /// The URLs of all proxies, as written.
    var all: [String] { [http, https].filter { !$0.isEmpty } }

    /// Makes a resolver for a policy.
    ///
    /// - Parameters:
    ///   - policy: The policy of the configuration.
    ///   - environment: The process's environment variables; used by `ProxyPolicy.environment`
    ///     only. `HTTP_PROXY` in capitals is ignored, because web servers set it for CGI programs
    ///     from the client's `Proxy` field (CVE-2016-5385).
    init(_ policy: ProxyPolicy, environment: [String: String]) {
        switch policy {
        case .none:
            http = ""
            https = ""
            exceptions = []
        case .url(let url, let except):
            http = ProxyAddress.withASCIIHost(url)
            https = http
            exceptions = except.compactMap { ProxyException($0) }
        case .environment:
            func first(_ names: String...) -> String {
                names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
            }
            http = ProxyAddress.withASCIIHost(first("http_proxy", "all_proxy", "ALL_PROXY"))
            https = ProxyAddress.withASCIIHost(
                first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"))
            exceptions = first("no_proxy", "NO_PROXY")
                .utf8.split {
                    [UInt8(ascii: ","), UInt8(ascii: " "), UInt8(ascii: "\t")].contains($0)
                }
                .compactMap { ProxyException(String(Substring($0))) }
        }
        isEmpty = http.isEmpty && https.isEmpty
        let isOfEnvironment = policy == .environment
        let advice =
            isOfEnvironment ? "check http_proxy and https_proxy" : "check the proxy's address"
        self.advice = advice
        faults = Dictionary(
            [http, https].filter { !$0.isEmpty }.compactMap { proxy in
                ProxyAddress.fault(in: proxy).map { fault in
                    let error = TransferError(
                        code: .badConfiguration,
                        reason: isOfEnvironment
                            ? "the proxy of the environment cannot be used: \(fault)"
                            : "the proxy cannot be used: \(fault)",
                        advice: advice)
                    return (proxy, error)
                }
            }, uniquingKeysWith: { first, _ in first })
    }

    /// Checks a policy of the configuration, but for the proxy's address, whose error is that of
    /// requests through it.
    static func check(_ policy: ProxyPolicy) throws(TransferError) {
        guard case .url(let address, let except) = policy else { return }
        guard !address.isEmpty else {
            throw .setting("proxy", "its address is empty", advice: ".none means no proxy")
        }
        for pattern in except where ProxyException(pattern)?.isValid != true {
            throw .setting(
                "proxy",
                "\(String(reflecting: pattern)) in 'except' is no name, address or network")
        }
    }

    /// The URL of the proxy for an origin; empty for a direct connection.
    ///
    /// - Throws: The error of transfers through a proxy whose address cannot be used.
    func proxy(for origin: Origin) throws(TransferError) -> String {
        let proxy = origin.isSecure ? https : http
        guard !proxy.isEmpty, !exceptions.contains(where: { $0.covers(origin) }) else { return "" }
        if let fault = faults[proxy] { throw fault }
        return proxy
    }
}

/// One pattern of `no_proxy`.
///
/// A pattern is `*`, a name that also matches its subdomains, an address, or an IPv4 or IPv6
/// network in CIDR notation. A name or an address may have a port.
private enum ProxyException: Sendable {
    case all
    case host(String, port: Int?)
    case network(InternetAddress, bits: Int)

    /// Parses a pattern; `nil` if it is empty.
    init?(_ text: String) {
        var pattern = text.utf8[...]
        if pattern.elementsEqual("*".utf8) {
            self = .all
            return
        }
        if pattern.starts(with: "*.".utf8) { pattern = pattern.dropFirst() }
        if pattern.first == UInt8(ascii: ".") { pattern = pattern.dropFirst() }
        guard !pattern.isEmpty else { return nil }
        if let slash = pattern.lastIndex(of: UInt8(ascii: "/")),
            let bits = Int(Substring(pattern[slash...].dropFirst())),
            let network = InternetAddress(String(Substring(pattern[..<slash])))
        {
            self = .network(network, bits: bits)
            return
        }
        var port: Int?
        if let colon = pattern.lastIndex(of: UInt8(ascii: ":")),
            let number = Int(Substring(pattern[colon...].dropFirst())),
            pattern.first == UInt8(ascii: "[") || !pattern[..<colon].contains(UInt8(ascii: ":"))
        {
            port = number
            pattern = pattern[..<colon]
        }
        self = .host(Origin.hostForComparison(String(Substring(pattern))), port: port)
    }

    /// Whether there can be an origin that the pattern covers.
    var isValid: Bool {
        switch self {
        case .all: true
        case .host(let name, let port):
            (try? Origin.canonicalHost(name)) != nil && port.map((1...65_535).contains) != false
        case .network(let network, let bits): (0...(network.isIPv4 ? 32 : 128)).contains(bits)
        }
    }

    func covers(_ origin: Origin) -> Bool {
        switch self {
        case .all: true
        case .host(let name, let port):
            (port == nil || port == origin.port)
                && (origin.host == name || origin.isUnder(name))
        case .network(let network, let bits):
            InternetAddress(origin.addressWithoutZone)?.isInside(network, bits: bits) == true
        }
    }
}

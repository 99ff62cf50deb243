import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTLS
import OutletTransport

/// The settings that can have invalid values, checked and converted to libcurl's form.
struct CheckedSettings: Sendable {
    /// The error of every transfer, naming the first invalid setting; `nil` if all are valid.
    private(set) var fault: TransferError?
    /// `CURLOPT_RESOLVE`; `nil` for none.
    private(set) var resolve: OptionList?
    /// `CURLOPT_INTERFACE`; `nil` for none.
    private(set) var interface: String?
    /// `CURLOPT_DNS_CACHE_TIMEOUT` in seconds, -1 for no limit; `nil` leaves libcurl's default,
    /// which is the setting's default as well.
    private(set) var dnsCacheTimeout: Int?
    /// The path of the file to log TLS keys to (`TLSKeyLog`); `nil` for none.
    private(set) var keyLogPath: String?

    init(_ configuration: TransportConfiguration, environment: Environment) {
        do throws(TransferError) {
            try environment.check([Environment.ofWireLog])
            if configuration.proxy == .environment, configuration.unixSocketPath == nil {
                try environment.check(Environment.ofProxies)
            }
            try ProxyResolver.check(configuration.proxy)
            if configuration.proxyCredential?.scheme == .bearer {
                throw .setting("proxyCredential", "it is a token, and proxies take none")
            }
            try Self.checkLimits(configuration)
            try Self.checkTLS(configuration)
            keyLogPath = try Self.keyLogPath(configuration.tlsKeyLog, environment)
            resolve = try Self.resolve(configuration.staticAddresses)
            interface = try configuration.sourceAddress.map(Self.interface)
            try configuration.unixSocketPath.map(Self.checkSocket)
            dnsCacheTimeout = try Self.dnsCacheTimeout(configuration.dnsCacheLifetime)
            try Self.checkProbes(configuration.tcpKeepAlive)
            try Self.checkThroughput(configuration.minimumThroughput)
        } catch {
            fault = error
        }
    }

    private static func checkLimits(
        _ configuration: TransportConfiguration
    ) throws(TransferError) {
        // Not a number is not 0 or more either.
        for (name, time) in [
            ("timeoutIntervalForRequest", configuration.timeoutIntervalForRequest),
            ("timeoutIntervalForResource", configuration.timeoutIntervalForResource),
            ("connectTimeout", configuration.connectTimeout),
            ("connectionIdleTimeout", configuration.connectionIdleTimeout),
        ] where !(time >= 0) {
            throw .setting(name, "\(time) s is not 0 or more", advice: "0 means no limit")
        }
        for (name, limit) in [
            ("httpMaximumConnectionsPerHost", configuration.httpMaximumConnectionsPerHost),
            ("maximumConnections", configuration.maximumConnections),
        ] where limit < 1 {
            throw .setting(name, "\(limit) is less than 1")
        }
        for (name, limit) in [
            ("maximumQueuedRequests", Int64(configuration.maximumQueuedRequests)),
            ("maximumResponseSize", configuration.maximumResponseSize),
            ("maximumHeaderSize", Int64(configuration.maximumHeaderSize)),
        ] where limit < 0 {
            throw .setting(name, "\(limit) is less than 0")
        }
        for (origin, limit) in configuration.maximumConnectionsPerOrigin where limit < 1 {
            throw .setting("maximumConnectionsPerOrigin", "\(limit) for \(origin) is less than 1")
        }
    }

    // MARK: TLS

    private static func checkTLS(_ configuration: TransportConfiguration) throws(TransferError) {
        if let list = configuration.tlsCipherList {
            try check("tlsCipherList", CipherNames.unknown(inList: list))
        }
        if let suites = configuration.tls13CipherSuites {
            try check("tls13CipherSuites", CipherNames.unknown(inSuites: suites))
        }
    }

    private static func check(_ setting: String, _ unknown: String?) throws(TransferError) {
        guard let unknown else { return }
        throw .setting(
            setting,
            unknown.isEmpty
                ? "it names no cipher" : "\(shown(unknown)) is no cipher that OpenSSL knows",
            advice: "see what 'openssl ciphers -s' lists")
    }

    private static func keyLogPath(
        _ log: TLSKeyLog, _ environment: Environment
    ) throws(TransferError) -> String? {
        switch log {
        case .off: return nil
        case .file(let path): return path
        case .environment:
            try environment.check([Environment.ofKeyLog])
            return environment.texts[Environment.ofKeyLog].flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    // MARK: Connections

    private static func resolve(_ table: [String: [String]]) throws(TransferError) -> OptionList? {
        guard !table.isEmpty else { return nil }
        var lines: [String: String] = [:]
        for (place, addresses) in table {
            let (host, port) = try hostAndPort(place)
            guard !addresses.isEmpty else {
                throw .setting("staticAddresses", "\(shown(place)) has no address")
            }
            var texts: [String] = []
            for text in addresses {
                guard !text.utf8.contains(UInt8(ascii: "%")), let address = InternetAddress(text)
                else {
                    throw .setting(
                        "staticAddresses",
                        "\(shown(text)), for \(shown(place)), is no IPv4 or IPv6 address")
                }
                texts.append(address.isIPv4 ? "\(address)" : "[\(address)]")
            }
            let key = "\(host):\(port)"
            guard lines.updateValue(texts.joined(separator: ","), forKey: key) == nil else {
                throw .setting("staticAddresses", "\(key) is there twice")
            }
        }
        return OptionList(lines.map { "\($0):\($1)" })
    }

    private static func hostAndPort(
        _ place: String
    ) throws(TransferError) -> (host: String, port: UInt16) {
        let bytes = place.utf8
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")),
            bytes[bytes.index(after: colon)...].allSatisfy(\.isDigit),
            let port = UInt16(Substring(bytes[bytes.index(after: colon)...])), port > 0
        else {
            throw .setting("staticAddresses", "\(shown(place)) is not of the form host:port")
        }
        let host: String
        do throws(OriginError) {
            host = try Origin.canonicalHost(String(Substring(bytes[..<colon])))
        } catch {
            throw .setting("staticAddresses", "\(shown(place)): \(error)")
        }
        guard !Origin.isAddress(host) else {
            throw .setting(
                "staticAddresses", "\(shown(place)) is an address, for which nothing is looked up")
        }
        return (host, port)
    }

    private static func interface(_ source: SourceAddress) throws(TransferError) -> String {
        switch source {
        case .interface(let name):
            let isName =
                (1..<Int(IF_NAMESIZE)).contains(name.utf8.count)
                && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
            guard isName else {
                throw .setting("sourceAddress", "\(shown(name)) is no name of an interface")
            }
            return "if!\(name)"
        case .address(let text):
            guard !text.utf8.contains(UInt8(ascii: "%")), let address = InternetAddress(text) else {
                throw .setting("sourceAddress", "\(shown(text)) is no IPv4 or IPv6 address")
            }
            return "host!\(address)"
        }
    }

    private static func checkSocket(_ path: String) throws(TransferError) {
        // The size of `sun_path` with its NUL.
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard (1...limit).contains(path.utf8.count), !path.containsByte("\0") else {
            throw .setting(
                "unixSocketPath",
                "a path of \(path.utf8.count) bytes; a Unix socket's has 1 to \(limit), without "
                    + "NUL")
        }
    }

    private static func dnsCacheTimeout(_ lifetime: TimeInterval) throws(TransferError) -> Int? {
        guard lifetime >= 0 else {
            throw .setting("dnsCacheLifetime", "\(lifetime) s is not 0 or more")
        }
        if lifetime == TransportConfiguration().dnsCacheLifetime { return nil }
        return lifetime.isFinite ? wholeSeconds(lifetime) : -1
    }

    private static func checkProbes(_ probes: TCPKeepAlive?) throws(TransferError) {
        guard let probes else { return }
        for (name, value) in [("idle", probes.idle), ("interval", probes.interval)]
        where !(1...32_767).contains(value) {
            throw .setting("tcpKeepAlive.\(name)", "\(value) s is not between 1 s and 32,767 s")
        }
    }

    private static func checkThroughput(_ minimum: MinimumThroughput?) throws(TransferError) {
        guard let minimum else { return }
        guard minimum.bytesPerSecond >= 1 else {
            throw .setting(
                "minimumThroughput.bytesPerSecond", "\(minimum.bytesPerSecond) is less than 1")
        }
        guard minimum.period >= 1, minimum.period.isFinite else {
            throw .setting("minimumThroughput.period", "\(minimum.period) s is not 1 s or more")
        }
    }

    private static func shown(_ text: String) -> String { String(reflecting: text) }
}

/// Seconds for libcurl options that take whole seconds: rounded up, 0 to `Int32.max`.
func wholeSeconds(_ seconds: TimeInterval) -> Int {
    Int(max(0, min(seconds.rounded(.up), Double(Int32.max))))
}

extension TransferError {
    /// The error of a setting that has an invalid value.
    static func setting(_ name: String, _ fact: String, advice: String = "") -> TransferError {
        TransferError(code: .badConfiguration, reason: "\(name): \(fact)", advice: advice)
    }
}

import FoundationEssentials
import Outlet

/// Reads the settings of the session from the command line.
enum SessionOptions {
    /// Returns the settings of the session.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if an option's value is wrong.
    static func configuration(
        _ arguments: ParsedArguments
    ) throws(CommandError) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.headers = defaultHeaders
        if let seconds = try seconds(arguments, .timeout) {
            configuration.timeoutIntervalForResource = seconds
            // `--timeout` limits the total time; a stall within it is not an error.
            configuration.timeoutIntervalForRequest = 0
        }
        if let seconds = try seconds(arguments, .connectTimeout) {
            configuration.connectTimeout = seconds
        }
        configuration.maximumRedirects = try redirects(arguments)
        configuration.allowsFileURLs = arguments.isOn(.allowFile)
        if arguments.value(.addressPolicy) == "public" { configuration.addressPolicy = .publicOnly }
        try setLimits(arguments, in: &configuration)
        switch arguments.value(.httpVersion) {
        case "1.1": configuration.httpVersion = .http1
        case "2": configuration.httpVersion = .http2PriorKnowledge
        default: configuration.httpVersion = .automatic
        }
        try setProxy(arguments.value(.proxy), in: &configuration)
        configuration.unixSocketPath = try unixSocket(arguments)
        try setAddresses(arguments, in: &configuration)
        try setVerification(arguments, in: &configuration)
        configuration.minimumTLSVersion = arguments.value(.tlsMin).flatMap {
            TLSVersion(rawValue: $0)
        }
        configuration.tlsCipherList = arguments.value(.ciphers)
        return configuration
    }

    /// Returns the time limit of the whole request in seconds; `nil` if there is none.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if the value is not a number of seconds.
    static func timeout(_ arguments: ParsedArguments) throws(CommandError) -> TimeInterval? {
        guard let seconds = try seconds(arguments, .timeout), seconds > 0 else { return nil }
        return seconds
    }

    /// Returns the time limit of a command that runs plugin code without a request, in seconds.
    ///
    /// 30 s by default; `nil` (`--timeout 0`) means no limit.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if the value is not a number of seconds.
    static func pluginTimeout(_ arguments: ParsedArguments) throws(CommandError) -> TimeInterval? {
        guard let seconds = try seconds(arguments, .timeout) else { return 30 }
        return seconds > 0 ? seconds : nil
    }

    /// The default header fields, which items can replace or remove.
    static let defaultHeaders: HTTPHeaders = [
        .defaultAcceptEncoding, .accept("*/*"), .userAgent("outlet/\(outletVersion)"),
    ]

    private static func seconds(
        _ arguments: ParsedArguments, _ id: Option.ID
    ) throws(CommandError) -> TimeInterval? {
        guard let text = arguments.value(id) else { return nil }
        guard let value = decimal(text), value <= 31_536_000 else {
            // Without the value, here and below, because it may be that of another option, and a secret.
            throw .usage("--\(id.rawValue): not a number of seconds from 0 to 31536000")
        }
        return value
    }

    /// A number of decimal digits, with a point or an exponent; `nil` for other texts.
    private static func decimal(_ text: String) -> Double? {
        // The initializer also takes signs, hexadecimal digits and names such as "inf".
        let known = text.utf8.allSatisfy { $0.isDigit || ".eE+-".utf8.contains($0) }
        guard known, let first = text.utf8.first, first.isDigit || first == UInt8(ascii: ".")
        else { return nil }
        return Double(text)
    }

    private static func redirects(_ arguments: ParsedArguments) throws(CommandError) -> Int {
        guard let text = arguments.value(.maxRedirects) else { return 10 }
        guard let value = Int(text), (0...10_000).contains(value) else {
            throw .usage("--max-redirects: not a number from 0 to 10000")
        }
        return value
    }

    private static func setLimits(
        _ arguments: ParsedArguments, in configuration: inout SessionConfiguration
    ) throws(CommandError) {
        if let size = try size(arguments, .maxResponseSize) {
            configuration.maximumResponseSize = size == 0 ? .max : size
        }
        if let size = try size(arguments, .maxDecompressedSize) {
            configuration.maximumDecompressedSize = size == 0 ? .max : size
        }
        if let text = arguments.value(.maxDecompressionRatio) {
            guard let ratio = decimal(text), ratio <= 1e9 else {
                throw .usage("--max-decompression-ratio: not a number from 0 to 1e9")
            }
            configuration.maximumDecompressionRatio = ratio
        }
        if let size = try size(arguments, .maxHeadSize) {
            guard (1...300 << 10).contains(size) else {
                throw .usage("--max-head-size: \(size): not a size from 1 to 300k")
            }
            configuration.maximumHeaderSize = Int(size)
        }
        if let text = arguments.value(.maxHeadFields) {
            guard let number = Int(text), (1...1_000_000).contains(number) else {
                throw .usage("--max-head-fields: not a number from 1 to 1000000")
            }
            configuration.maximumHeaderFields = number
        }
    }

    /// Parses a number of bytes: decimal digits, optionally with `k`, `M` or `G` (powers of 1024).
    private static func size(
        _ arguments: ParsedArguments, _ id: Option.ID
    ) throws(CommandError) -> Int64? {
        guard let text = arguments.value(id) else { return nil }
        let shift: Int64 =
            switch text.utf8.last {
            case UInt8(ascii: "k"), UInt8(ascii: "K"): 10
            case UInt8(ascii: "m"), UInt8(ascii: "M"): 20
            case UInt8(ascii: "g"), UInt8(ascii: "G"): 30
            default: 0
            }
        let digits = text.utf8.dropLast(shift == 0 ? 0 : 1)
        let isNumber = digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, let number = Int64(Substring(digits)), number <= Int64.max >> shift else {
            throw .usage(
                "--\(id.rawValue): not a number of bytes, such as 1048576, 512k, 64M or 2G"
            )
        }
        return number << shift
    }

    private static func setProxy(
        _ text: String?, in configuration: inout SessionConfiguration
    ) throws(CommandError) {
        guard let text else { return }
        if text == "none" || text.isEmpty {
            configuration.proxy = .none
            return
        }
        if let fault = ProxyAddress.fault(in: text) {
            throw .usage("--proxy: \(fault)")
        }
        // libcurl would guess the scheme from the name, such as ftp for ftp.example.org.
        let address = text.containsBytes(of: "://") ? text : "http://\(text)"
        configuration.proxy = .url(address, except: [])
    }

    private static func unixSocket(
        _ arguments: ParsedArguments
    ) throws(CommandError) -> String? {
        guard let path = try existing(.unixSocket, arguments) else { return nil }
        let useless = [Option.ID.proxy, .interface, .resolve].first { id in
            arguments.value(id).map { !["", "none"].contains($0) } ?? false
        }
        if let useless { throw .usage("--\(useless.rawValue): of no use with --unix-socket") }
        return path
    }

    private static func setAddresses(
        _ arguments: ParsedArguments, in configuration: inout SessionConfiguration
    ) throws(CommandError) {
        for text in arguments.values(.resolve) {
            guard !text.startsWithBytes(of: "[") else {
                throw .usage("--resolve: \(text): an IP address is not looked up")
            }
            let parts = text.utf8.split(
                separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else {
                throw .usage("--resolve: \(text): not of the form HOST:PORT:ADDRESS")
            }
            let addresses = parts[2].split(separator: UInt8(ascii: ","))
            configuration.staticAddresses["\(Substring(parts[0])):\(Substring(parts[1]))"] =
                addresses.map { String(Substring($0)) }
        }
        if let text = arguments.value(.interface) {
            // The name of an interface cannot be an IP address.
            let isAddress = AddressPolicy.any.allows(text)
            configuration.sourceAddress = isAddress ? .address(text) : .interface(text)
        }
    }

    private static func setVerification(
        _ arguments: ParsedArguments, in configuration: inout SessionConfiguration
    ) throws(CommandError) {
        switch arguments.value(.verify) {
        case nil, "yes", "true": break
        case "no", "false": configuration.verifiesCertificates = false
        case .some(let path):
            guard FileManager.default.fileExists(atPath: path) else {
                throw .usage("--verify: \(path): neither yes, no nor a file")
            }
            configuration.certificateAuthorities = authorities(at: path)
        }
        if let path = try existing(.cacert, arguments) {
            if let other = arguments.value(.verify), other != "yes", other != "true" {
                throw .usage("--cacert: contradicts --verify=\(other)")
            }
            configuration.certificateAuthorities = authorities(at: path)
        }
        if let path = try existing(.cert, arguments) {
            configuration.clientCertificate = ClientCertificate(
                certificatePath: path, keyPath: try existing(.certKey, arguments))
        } else if arguments.value(.certKey) != nil {
            throw .usage("--cert-key: of no use without --cert")
        }
    }

    private static func authorities(at path: String) -> CertificateAuthorities {
        var isDirectory = false
        _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
        return isDirectory ? .directory(path: path) : .file(path: path)
    }

    private static func existing(
        _ id: Option.ID, _ arguments: ParsedArguments
    ) throws(CommandError) -> String? {
        guard let path = arguments.value(id) else { return nil }
        guard FileManager.default.fileExists(atPath: path) else {
            throw .usage("--\(id.rawValue): \(path): no such file")
        }
        return path
    }
}

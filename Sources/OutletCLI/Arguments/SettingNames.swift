import Outlet

/// Replaces the names of the library's settings in its messages by the program's options.
enum SettingNames {
    /// The options that set them, by the names of the properties.
    static let options: [String: Option.ID] = [
        "addressPolicy": .addressPolicy, "allowsFileURLs": .allowFile,
        "certificateAuthorities": .cacert, "clientCertificate": .cert,
        "connectTimeout": .connectTimeout, "httpVersion": .httpVersion,
        "maximumDecompressedSize": .maxDecompressedSize,
        "maximumDecompressionRatio": .maxDecompressionRatio,
        "maximumHeaderFields": .maxHeadFields, "maximumHeaderSize": .maxHeadSize,
        "maximumRedirects": .maxRedirects, "maximumResponseSize": .maxResponseSize,
        "minimumTLSVersion": .tlsMin,
        "sourceAddress": .interface, "staticAddresses": .resolve,
        "timeoutIntervalForRequest": .timeout, "timeoutIntervalForResource": .timeout,
        "tlsCipherList": .ciphers, "unixSocketPath": .unixSocket,
        "verifiesCertificates": .verify,
    ]

    /// The settings that the program has no option for.
    static let unavailable: Set<String> = [
        "allowsInsecureRedirectsWithBodies", "cachePolicy", "clientCertificateProvider",
        "coalescesRequests", "connectionIdleTimeout", "decompressionRatioExemptSize",
        "dnsCacheLifetime", "httpCookieAcceptPolicy", "httpMaximumConnectionsPerHost",
        "httpShouldSetCookies", "interceptorTimeout", "isEnforcedByProxy", "logsWire",
        "maximumConnections", "maximumConnectionsPerOrigin", "maximumMessageSize",
        "maximumQueuedRequests", "minimumThroughput", "proxyCredential", "readTimeout",
        "requestCachePolicy", "streamBufferSize", "tcpKeepAlive", "tls13CipherSuites", "tlsKeyLog",
        "urlCache", "urlCredentialStorage",
    ]

    /// The values of options, by the names that the library gives them in its messages.
    private static let values = ["publicOnly": "public"]

    /// Returns the reason of an error with the option in place of a setting's name, which stands
    /// before the first colon if the setting is at fault, and the value of `--address-policy` in
    /// place of the policy's name.
    static func replaced(inReason reason: String) -> String {
        guard let (setting, fact) = reason.cut(at: ":"), let option = options[String(setting)]
        else { return mapWords(of: reason) { values[$0] } }
        return "--\(option.rawValue):\(fact)"
    }

    /// Returns an advice with the options in place of the settings.
    ///
    /// Alternatives, separated by "or", are left out if they need a setting without an option.
    static func replaced(inAdvice advice: String) -> String {
        var wanted: [String] = []
        for part in alternatives(of: advice) {
            var isUnavailable = false
            let shown = mapWords(of: part) { word in
                if unavailable.contains(word) { isUnavailable = true }
                return options[word].map { "--\($0.rawValue)" }
            }
            if !isUnavailable { wanted.append(shown) }
        }
        return wanted.joined(separator: " or ").trimmingTrailingComma
    }

    private static func alternatives(of text: String) -> [String] {
        var rest = Array(text.utf8)[...]
        let separator = Array(" or ".utf8)
        var parts: [String] = []
        while let found = rest.firstRange(of: separator) {
            parts.append(String(decoding: rest[..<found.lowerBound], as: UTF8.self))
            rest = rest[found.upperBound...]
        }
        return parts + [String(decoding: rest, as: UTF8.self)]
    }

    /// Returns a text in which words of ASCII letters and digits are replaced by what `body` returns,
    /// if it returns anything.
    private static func mapWords(of text: String, _ body: (String) -> String?) -> String {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            guard byte.isAlpha else {
                result.append(byte)
                rest.removeFirst()
                continue
            }
            let word = rest.prefix { $0.isAlpha || $0.isDigit }
            let name = String(decoding: word, as: UTF8.self)
            result += Array((body(name) ?? name).utf8)
            rest = rest[word.endIndex...]
        }
        return String(decoding: result, as: UTF8.self)
    }
}

extension String {
    fileprivate var trimmingTrailingComma: String {
        endsWithBytes(of: ",") ? String(decoding: utf8.dropLast(), as: UTF8.self) : self
    }
}

/// An option of the command line, described as data for the parser, the help and completions.
struct Option: Sendable {
    /// The identity of an option; the raw value is its long name.
    enum ID: String, Sendable, CaseIterable {
        case plugins, pluginConfig = "plugin-config", pluginsOptional = "plugins-optional"
        case pluginData = "plugin-data", run
        case seed, only, lang, directory
        case form, raw, chunked, ignoreStdin = "ignore-stdin"
        case auth, authType = "auth-type"
        case print, headers, body, verbose, quiet, json, output, pretty, color
        case showSecrets = "show-secrets"
        case follow, maxRedirects = "max-redirects", checkStatus = "check-status"
        case maxResponseSize = "max-response-size", maxDecompressedSize = "max-decompressed-size"
        case maxDecompressionRatio = "max-decompression-ratio"
        case maxHeadSize = "max-head-size", maxHeadFields = "max-head-fields"
        case allowFile = "allow-file", addressPolicy = "address-policy"
        case timeout, connectTimeout = "connect-timeout", httpVersion = "http-version"
        case proxy, unixSocket = "unix-socket"
        case resolve, interface
        case verify, cacert, cert, certKey = "cert-key"
        case tlsMin = "tls-min", ciphers
        case help, version, generate
    }

    /// The heading of the help under which an option is listed.
    enum Group: String, Sendable, CaseIterable {
        case plugins = "Plugins"
        case request = "Request"
        case output = "Output"
        case response = "Redirects and status"
        case limits = "Limits"
        case network = "Network and TLS"
        case about = "About"
    }

    let id: ID
    let short: Character?
    /// The placeholder of the value in the help; `nil` for a switch.
    let value: String?
    /// The allowed values; empty if any text is allowed.
    let choices: [String]
    let repeats: Bool
    let isOnByDefault: Bool
    /// Whether an empty value has a meaning.
    let allowsEmpty: Bool
    let group: Group
    let verbs: [Verb]
    let summary: String

    init(
        _ id: ID, short: Character? = nil, value: String? = nil, choices: [String] = [],
        repeats: Bool = false, isOnByDefault: Bool = false, allowsEmpty: Bool = false,
        _ group: Group,
        verbs: [Verb] = [.request], _ summary: String
    ) {
        self.id = id
        self.short = short
        self.value = value
        self.choices = choices
        self.repeats = repeats
        self.isOnByDefault = isOnByDefault
        self.allowsEmpty = allowsEmpty
        self.group = group
        self.verbs = verbs
        self.summary = summary
    }

    var long: String { id.rawValue }
}

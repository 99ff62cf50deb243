import FoundationEssentials
import Glibc
import OutletPluginKit

/// The configuration.
///
/// - `token_url`: the URL of the token endpoint; `https`, or `http` on this machine. Required.
/// - `origins`: the servers that get the token, such as `["https://api.example.com"]`; also
///   `https`, or `http` on this machine. Required.
/// - `client_id`: the client identifier. Required.
/// - `client_secret`, or `client_secret_file`: the client's password.
/// - `grant`: `client_credentials` (the default), or `refresh_token`.
/// - `refresh_token`, or `refresh_token_file`: the refresh token for that grant.
/// - `client_auth`: how the password is sent: `basic` (the default) in `Authorization`, or `post`
///   in the body.
/// - `scope`: the requested scope; left out if it is not set.
/// - `refresh_before_s`: how many seconds before it expires a token is replaced (30).
/// - `timeout_s`: the time limit for fetching a token, in seconds (10); less than the host's limit
///   for hooks.
///
/// Files are given by absolute paths. They must be regular files that belong to the user or root
/// and that others cannot read. A line break at the end is not part of the secret.
struct Settings {
    /// The grant by which a token is obtained (RFC 6749 §1.3).
    enum Grant: String, Decodable {
        case clientCredentials = "client_credentials"
        case refreshToken = "refresh_token"
    }

    /// How the client's password is sent.
    enum Authentication: String, Decodable {
        case basic, post
    }

    let tokenURL: String
    let origins: Set<Origin>
    let clientID: String
    let clientSecret: String?
    let grant: Grant
    let refreshToken: String?
    let authentication: Authentication
    let scope: String?
    let refreshBefore: Duration
    let timeout: Duration

    static let schema = """
        {"type":"object","properties":{"token_url":{"type":"string"},\
        "origins":{"type":"array","items":{"type":"string"},"minItems":1},\
        "client_id":{"type":"string","minLength":1},\
        "client_secret":{"type":"string","minLength":1},\
        "client_secret_file":{"type":"string","pattern":"^/"},\
        "grant":{"enum":["client_credentials","refresh_token"]},\
        "refresh_token":{"type":"string","minLength":1},\
        "refresh_token_file":{"type":"string","pattern":"^/"},\
        "client_auth":{"enum":["basic","post"]},"scope":{"type":"string"},\
        "refresh_before_s":{"type":"integer","minimum":0,"maximum":86400},\
        "timeout_s":{"type":"integer","minimum":1,"maximum":25}},\
        "required":["token_url","origins","client_id"],"additionalProperties":false}
        """

    /// Reads the configuration.
    ///
    /// - Throws: `PluginError` that names the setting and contains no value.
    init(json: String) throws(PluginError) {
        // The host has validated it by the schema.
        guard let values = try? JSONDecoder().decode(Values.self, from: Data(json.utf8)) else {
            throw PluginError("configuration: not readable", code: "bad-configuration")
        }
        guard let server = Origin(ofAddress: values.tokenURL), server.isPrivate,
            !values.tokenURL.utf8.contains(UInt8(ascii: "#"))
        else {
            throw .setting("token_url", "not an address with https, or with http on this machine")
        }
        tokenURL = values.tokenURL
        var origins: Set<Origin> = []
        for text in values.origins {
            guard let origin = Origin(text), origin.isPrivate else {
                throw .setting(
                    "origins",
                    "element \(origins.count + 1) is not https://host[:port], or http on this machine"
                )
            }
            origins.insert(origin)
        }
        self.origins = origins
        clientID = values.clientID
        clientSecret = try Secret.read(
            values.clientSecret, values.clientSecretFile, "client_secret")
        refreshToken = try Secret.read(
            values.refreshToken, values.refreshTokenFile, "refresh_token")
        grant = values.grant ?? .clientCredentials
        if grant == .clientCredentials, clientSecret == nil {
            throw .setting("client_secret", "not set, nor is \"client_secret_file\"")
        }
        guard (grant == .refreshToken) == (refreshToken != nil) else {
            throw .setting(
                "refresh_token", "it goes with the grant refresh_token, and with that alone")
        }
        authentication = values.authentication ?? .basic
        scope = values.scope
        refreshBefore = .seconds(values.refreshBefore ?? 30)
        timeout = .seconds(values.timeout ?? 10)
    }
}

/// The settings as they are written.
private struct Values: Decodable {
    let tokenURL: String
    let origins: [String]
    let clientID: String
    let clientSecret: String?
    let clientSecretFile: String?
    let grant: Settings.Grant?
    let refreshToken: String?
    let refreshTokenFile: String?
    let authentication: Settings.Authentication?
    let scope: String?
    let refreshBefore: Double?
    let timeout: Double?

    enum CodingKeys: String, CodingKey {
        case tokenURL = "token_url"
        case origins
        case clientID = "client_id"
        case clientSecret = "client_secret"
        case clientSecretFile = "client_secret_file"
        case grant
        case refreshToken = "refresh_token"
        case refreshTokenFile = "refresh_token_file"
        case authentication = "client_auth"
        case scope
        case refreshBefore = "refresh_before_s"
        case timeout = "timeout_s"
    }
}

/// A secret of the configuration.
private enum Secret {
    /// The maximum size of a file, in bytes.
    static let limit = 16_384

    /// Returns the secret, or the content of its file; `nil` if neither is set.
    static func read(_ value: String?, _ path: String?, _ name: String) throws(PluginError)
        -> String?
    {
        guard let path else { return value }
        guard value == nil else { throw .setting(name, "set, and \"\(name)_file\" as well") }
        guard !path.utf8.contains(0) else {
            throw .setting("\(name)_file", "it has a zero byte")
        }
        // With O_NONBLOCK, because opening a FIFO would wait for a writer.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else {
            throw .setting(
                "\(name)_file",
                errno == ENOENT ? "there is no such file" : "the file cannot be opened")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .setting("\(name)_file", "not a regular file")
        }
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            throw .setting("\(name)_file", "the file belongs to another user")
        }
        guard status.st_mode & (S_IRWXO | S_IWGRP) == 0 else {
            throw .setting("\(name)_file", "the file is open to other users: chmod 600 closes it")
        }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard (0...limit).contains(count) else {
            throw .setting(
                "\(name)_file", "the file cannot be read, or has more than \(limit) bytes")
        }
        bytes.removeLast(bytes.count - count)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else {
            throw .setting("\(name)_file", "the file is empty, or not UTF-8")
        }
        return text
    }
}

extension PluginError {
    /// Makes the error of a setting.
    fileprivate static func setting(_ name: String, _ problem: String) -> PluginError {
        PluginError("configuration: \"\(name)\": \(problem)", code: "bad-configuration")
    }
}

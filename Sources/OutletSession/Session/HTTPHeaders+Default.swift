import FoundationEssentials
import Glibc
public import OutletHTTP

extension HTTPHeaders {
    /// The fields that a session sends by default: `Accept-Encoding`, `Accept-Language` and
    /// `User-Agent`.
    public static let `default`: HTTPHeaders = [
        .defaultAcceptEncoding, .defaultAcceptLanguage, .defaultUserAgent,
    ]
}

extension HTTPHeader {
    /// The default `Accept-Encoding`: `br`, `gzip` and `deflate`, in this order of preference.
    ///
    /// Responses in zstd (RFC 8878) are decoded as well, for requests that ask for it with
    /// `.acceptEncoding("zstd, br, gzip")`. It is not in the default, so that servers send what
    /// they send to other clients with this field.
    public static let defaultAcceptEncoding = acceptEncoding("br;q=1.0, gzip;q=0.9, deflate;q=0.8")

    /// The default `Accept-Language`: the language of the environment, or `en`.
    ///
    /// The first variable that is not empty counts: `LC_ALL`, `LC_MESSAGES`, then `LANG`.
    public static let defaultAcceptLanguage: HTTPHeader = {
        // Not `ProcessInfo.environment`, which copies all variables.
        let names: [String] = ["LC_ALL", "LC_MESSAGES", "LANG"]
        let locale = names.lazy.compactMap { name in getenv(name).map { String(cString: $0) } }
            .first { !$0.isEmpty }
        let name = (locale ?? "").prefix(whileByte: { !".@".utf8.contains($0) })
            .parts(separatedBy: "_").joined(separator: "-")
        return acceptLanguage(["", "C", "POSIX"].contains(name) ? "en;q=1.0" : "\(name);q=1.0")
    }()

    /// The default `User-Agent`: the name of the program, the Linux version and Outlet's version.
    public static let defaultUserAgent: HTTPHeader = {
        let process = ProcessInfo.processInfo
        let system = process.operatingSystemVersion
        let version = "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
        let program = productName(process.arguments.first ?? "")
        return userAgent(
            "\(program)/Unknown (Unknown; build:Unknown; Linux \(version)) Outlet/\(outletVersion)")
    }()

    /// The file name of a program as a token (RFC 9110, section 10.1.5): `Unknown` if nothing is left.
    static func productName(_ path: String) -> String {
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? path.utf8[...]
        let token = String(decoding: name.filter(\.isToken), as: UTF8.self)
        return token.isEmpty ? "Unknown" : token
    }
}

/// This library's version, as in the changelog.
public let outletVersion = "0.1.0"

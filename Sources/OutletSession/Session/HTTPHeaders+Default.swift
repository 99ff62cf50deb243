import FoundationEssentials
import Glibc
public import OutletHTTP

extension HTTPHeaders {
    /// The fields that a session sends unless told otherwise: `Accept-Encoding`,
    /// `Accept-Language` and `User-Agent`.
    public static let `default`: HTTPHeaders = [
        .defaultAcceptEncoding, .defaultAcceptLanguage, .defaultUserAgent,
    ]
}

extension HTTPHeader {
    /// The codings that servers know best, best first (RFC 9110 §12.5.3).
    ///
    /// zstd (RFC 8878) is undone, too, for requests that ask for it: `.acceptEncoding("zstd, br, gzip")`.
    /// It is not asked for by itself, so that servers answer as they do to other clients of this field.
    public static let defaultAcceptEncoding = acceptEncoding("br;q=1.0, gzip;q=0.9, deflate;q=0.8")

    /// The languages of the environment (`LC_ALL`, `LC_MESSAGES`, `LANG`), English if none is set.
    public static let defaultAcceptLanguage: HTTPHeader = {
        // Three look-ups cost far less than the dictionary of all variables.
        let names: [String] = ["LC_ALL", "LC_MESSAGES", "LANG"]
        let locale = names.lazy.compactMap { name in getenv(name).map { String(cString: $0) } }
            .first { !$0.isEmpty }
        let name = (locale ?? "").prefix(whileByte: { !".@".utf8.contains($0) })
            .parts(separatedBy: "_").joined(separator: "-")
        return acceptLanguage(["", "C", "POSIX"].contains(name) ? "en;q=1.0" : "\(name);q=1.0")
    }()

    /// The program, the system and Outlet, each with its version.
    public static let defaultUserAgent: HTTPHeader = {
        let process = ProcessInfo.processInfo
        let program =
            process.arguments.first.flatMap { $0.parts(separatedBy: "/").last }.map(String.init)
            ?? "Unknown"
        let system = process.operatingSystemVersion
        let version = "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
        return userAgent(
            "\(program)/Unknown (Unknown; build:Unknown; Linux \(version)) Outlet/\(outletVersion)")
    }()
}

/// This library's version, as in the changelog.
public let outletVersion = "0.1.0"

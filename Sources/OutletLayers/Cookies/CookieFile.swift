import FoundationEssentials
import OutletHTTP
import OutletPublicSuffix

/// Netscape's file format for cookies: one line per cookie, with seven fields separated by tabs.
enum CookieFile {
    private static let httpOnly = "#HttpOnly_"
    private static let sameSite = "#SameSite="

    /// Returns the file's bytes, without cookies that the format cannot represent because it has no
    /// escapes.
    static func encode(_ cookies: [Cookie]) -> Data {
        var file = Data("# Netscape HTTP Cookie File\n\n".utf8)
        for cookie in cookies where isWritable(cookie) {
            if let sameSite = cookie.sameSite {
                file += "\(Self.sameSite)\(sameSite.rawValue)\n".utf8
            }
            let fields = [
                (cookie.isHostOnly ? "" : ".") + cookie.domain,
                cookie.isHostOnly ? "FALSE" : "TRUE",
                cookie.path, cookie.isSecure ? "TRUE" : "FALSE", "\(end(of: cookie))", cookie.name,
                cookie.value,
            ]
            let line = (cookie.isHTTPOnly ? httpOnly : "") + fields.joined(separator: "\t") + "\n"
            file += cookie.bytes(of: line)
        }
        return file
    }

    /// Returns the cookies of a file; ignores lines that are invalid or that no server could have
    /// set.
    static func decode(_ file: Data) -> [Cookie] {
        var cookies: [Cookie] = []
        var sameSite: Cookie.SameSite?
        for bytes in file.split(separator: UInt8(ascii: "\n")) {
            let isEndedByCR = bytes.last == UInt8(ascii: "\r")
            let text = HTTPHeader(name: "", valueBytes: bytes.dropLast(isEndedByCR ? 1 : 0))
            let line = text.value
            guard !line.isEmpty else { continue }
            if line.startsWithBytes(of: Self.sameSite) {
                let name = line.droppingBytes(Self.sameSite.utf8.count)
                sameSite = Cookie.SameSite(rawValue: String(name))
                continue
            }
            let isHTTPOnly = line.startsWithBytes(of: httpOnly)
            guard isHTTPOnly || !line.startsWithBytes(of: "#") else { continue }
            defer { sameSite = nil }
            let fields = line.droppingBytes(isHTTPOnly ? httpOnly.utf8.count : 0)
            guard var cookie = cookie(fields) else { continue }
            cookie.isHTTPOnly = isHTTPOnly
            cookie.sameSite = sameSite
            cookie.isLatin1 = text.isLatin1
            cookies.append(cookie)
        }
        return cookies
    }

    private static func cookie(_ line: Substring) -> Cookie? {
        let fields = line.parts(separatedBy: "\t").map(String.init)
        // The last tab may be missing if the value is empty.
        guard fields.count == 7 || fields.count == 6, let end = fields[4].decimal(Int64.self) else {
            return nil
        }
        let host = fields[0].droppingBytes(fields[0].startsWithBytes(of: ".") ? 1 : 0)
        let isForNamesBelow = fields[1].equalsIgnoringCase("TRUE")
        let cookie = Cookie(
            name: fields[5], value: fields.count == 7 ? fields[6] : "",
            domain: (isForNamesBelow ? "." : "") + host, path: fields[2],
            expiresDate: end == 0 ? nil : Date(timeIntervalSince1970: Double(end)),
            isSecure: fields[3].equalsIgnoringCase("TRUE"))
        return isWritable(cookie) && isSettable(cookie) ? cookie : nil
    }

    /// Whether the cookie can be written as one line of seven fields.
    private static func isWritable(_ cookie: Cookie) -> Bool {
        Cookie.isHost(cookie.domain) && cookie.path.startsWithBytes(of: "/")
            && [cookie.path, cookie.name, cookie.value].allSatisfy { field in
                !field.utf8.contains(where: \.isControl)
            }
    }

    /// Whether a server could have set the cookie (RFC 6265bis §5.7), as far as the file shows it.
    private static func isSettable(_ cookie: Cookie) -> Bool {
        let isOfMany = Origin.isAddress(cookie.domain) || PublicSuffixList.contains(cookie.domain)
        return (cookie.isHostOnly || !isOfMany)
            && SetCookie.isPair(name: cookie.name, value: cookie.value)
            && Cookie.keepsPrefix(
                name: cookie.name, value: cookie.value, isSecure: cookie.isSecure,
                isOfHost: cookie.isHostOnly && cookie.path.hasSameBytes(as: "/"))
    }

    /// Returns the expiry in seconds since 1970; 0 means the end of the session, so no expiry is
    /// written as 0.
    private static func end(of cookie: Cookie) -> Int64 {
        guard let seconds = cookie.expiresDate?.timeIntervalSince1970 else { return 0 }
        return seconds > 1 ? Int64(min(seconds, 1e15)) : 1
    }
}

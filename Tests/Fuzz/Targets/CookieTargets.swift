import FoundationEssentials
@testable import OutletLayers

@testable import OutletHTTP
@testable import OutletSession

/// Parsers of `Set-Cookie` fields and of the files with cookies and HSTS policies.
let cookieTargets: [FuzzTarget] = [
    FuzzTarget("set-cookie") { data in
        let headers: HTTPHeaders = ["Set-Cookie": data.text]
        guard let url = URL(string: "https://www.shop.co.uk/a/b") else { return }
        let cookies = Cookie.cookies(withResponseHeaderFields: headers, for: url)
        for cookie in cookies {
            try expect(
                ["www.shop.co.uk", "shop.co.uk"].contains(cookie.domain), "\(cookie.domain)")
            try expect(!cookie.pairBytes.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }, "a line")
            try expect(cookie.path.startsWithBytes(of: "/"), "path \(cookie.path)")
            try checkPrefix(cookie)
        }
        try checkFile(cookies)
    },
    FuzzTarget("cookie-file") { data in
        let cookies = CookieFile.decode(data)
        for cookie in cookies {
            try expect(!cookie.domain.isEmpty && cookie.path.startsWithBytes(of: "/"), "\(cookie)")
            try expect(
                cookie.isHostOnly || !["com", "co.uk", "github.io"].contains(cookie.domain),
                "for everybody: \(cookie.domain)")
            try checkPrefix(cookie)
        }
        try checkFile(cookies)
        let again = CookieFile.decode(CookieFile.encode(cookies))
        try expect(again.count == cookies.count, "\(cookies.count) cookies became \(again.count)")
    },
    FuzzTarget("hsts") { data in
        let policies = HSTSFile.decode(data.text)
        for policy in policies {
            try expect(!policy.host.isEmpty && policy.host.utf8.first != 0x2E, "\(policy.host)")
        }
        let text = HSTSFile.encode(policies)
        try expect(text.lines.count == policies.count + 1, "\(policies.count) hosts: \(text)")
        let again = HSTSFile.decode(text)
        try expect(
            again.map(\.host) == policies.map(\.host)
                && again.map(\.includesSubdomains) == policies.map(\.includesSubdomains), text)
        let now = Date(timeIntervalSince1970: 0)
        if let policy = HSTSStorage.policy(data.text, host: "x.test", now: now) {
            try expect((0...1e10).contains(policy.expiresDate.timeIntervalSince1970), "\(policy)")
        }
    },
]

private func checkPrefix(_ cookie: Cookie) throws {
    for prefix in ["__Secure-", "__Host-"] where cookie.pair.startsIgnoringCase(with: prefix) {
        try expect(
            cookie.isSecure && !cookie.name.isEmpty
                && (prefix == "__Secure-" || (cookie.isHostOnly && cookie.path == "/")),
            "\(cookie) breaks its promise")
    }
}

/// Checks that the file has at most one line per cookie, and that each cookie read from it is one
/// of those written.
private func checkFile(_ cookies: [Cookie]) throws {
    let file = CookieFile.encode(cookies)
    let lines = String(decoding: file, as: UTF8.self).lines.filter {
        !$0.startsWithBytes(of: "#") || $0.startsWithBytes(of: "#HttpOnly_")
    }
    try expect(lines.count <= cookies.count, "\(cookies.count) cookies, \(lines.count) lines")
    for line in lines { try expect(line.parts(separatedBy: "\t").count == 7, "\(line)") }
    for read in CookieFile.decode(file) {
        try expect(
            cookies.contains { $0.domain == read.domain && $0.pairBytes == read.pairBytes },
            "\(read) was not written")
    }
}

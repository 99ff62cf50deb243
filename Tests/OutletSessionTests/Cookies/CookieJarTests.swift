import FoundationEssentials
import Testing

@testable import OutletLayers
@testable import OutletSession

/// Tests the order in which cookies are sent, and which are evicted.
@Suite struct CookieJarTests {
    private let now = Date(timeIntervalSince1970: 1_000_000)

    private func cookie(
        _ name: String, age: Double, domain: String = "x.test", expiresIn seconds: Double? = nil
    ) -> Cookie {
        Cookie(
            name: name, value: "\(age)", domain: domain, expiresDate: seconds.map { now + $0 },
            creationDate: now - age)
    }

    private func names(_ jar: CookieJar, _ host: String = "x.test") -> [String] {
        var jar = jar
        return jar.cookies(host: host, path: "/", isSecure: true, now: now).map(\.name)
    }

    @Test func `a cookie that replaces another keeps its creation date`() {
        var jar = CookieJar()
        jar.set(cookie("young", age: 10), isSecure: true, now: now)
        jar.set(cookie("old", age: 20), isSecure: true, now: now)
        jar.set(cookie("old", age: 1), isSecure: true, now: now)
        #expect(names(jar) == ["old", "young"])
        let kept = jar.cookies(now: now).first { $0.name == "old" }
        #expect(kept?.value == "1.0" && kept?.creationDate == now - 20)
    }

    @Test func `the oldest cookies of a domain are evicted in any order of insertion`() {
        var jar = CookieJar()
        for index in 0...180 {
            // Later cookies are older, except for the last one, which is the youngest.
            let age = index == 180 ? 0.5 : Double(index + 1)
            jar.set(cookie("n\(index)", age: age), isSecure: true, now: now)
        }
        let kept = Set(names(jar))
        #expect(kept.count == 162 && kept == Set((0...160).map { "n\($0)" } + ["n180"]))
    }

    @Test func `cookies that are set again or sent are evicted last`() {
        func cookie(_ index: Int, age: Double, path: String) -> Cookie {
            var cookie = self.cookie("n\(index)", age: age)
            cookie.path = path
            return cookie
        }
        var jar = CookieJar()
        for index in 0..<180 {
            let path = index == 1 ? "/sent" : "/other"
            jar.set(cookie(index, age: 1000, path: path), isSecure: true, now: now - 1000)
        }
        jar.set(cookie(0, age: 0, path: "/other"), isSecure: true, now: now)
        _ = jar.cookies(host: "x.test", path: "/sent", isSecure: true, now: now)
        for index in 180..<198 {
            jar.set(cookie(index, age: 1, path: "/"), isSecure: true, now: now)
        }
        let kept = jar.cookies(now: now).map(\.name)
        #expect(kept.contains("n0") && kept.contains("n1") && kept.contains("n197"))
    }

    @Test func `an old cookie that is sent with all others outlives them`() {
        var jar = CookieJar()
        jar.set(cookie("login", age: 1000), isSecure: true, now: now)
        for index in 0..<400 {
            let now = now + Double(index)
            _ = jar.cookies(host: "x.test", path: "/", isSecure: true, now: now)
            jar.set(cookie("n\(index)", age: 500 - Double(index)), isSecure: true, now: now)
        }
        #expect(jar.cookies(now: now).contains { $0.name == "login" })
    }

    @Test(arguments: [1, 150, 180])
    func `a response over http does not evict secure cookies`(count: Int) {
        var jar = CookieJar()
        for index in 0..<count {
            var cookie = cookie("s\(index)", age: 10)
            cookie.isSecure = true
            jar.set(cookie, isSecure: true, now: now)
        }
        for index in 0..<400 {
            jar.set(cookie("n\(index)", age: 0), isSecure: false, now: now + 1)
        }
        #expect(jar.cookies(now: now).count(where: \.isSecure) == count)
        #expect(jar.count <= 181)
    }

    @Test func `expired cookies are evicted before old ones`() {
        var jar = CookieJar()
        for index in 0..<90 {
            jar.set(cookie("old\(index)", age: 1000), isSecure: true, now: now - 100)
            jar.set(
                cookie("ended\(index)", age: 1, expiresIn: -50), isSecure: true, now: now - 100)
        }
        jar.set(cookie("last", age: 0), isSecure: true, now: now)
        #expect(names(jar).count == 91 && jar.count == 91)
    }

    @Test func `the oldest cookies of all domains are evicted at the total limit`() {
        var jar = CookieJar()
        for index in 0...3300 {
            jar.set(
                cookie("n", age: Double(index), domain: "x\(index).test"), isSecure: true, now: now)
        }
        #expect(jar.count == 2970)
        #expect(names(jar, "x0.test") == ["n"] && names(jar, "x2969.test") == ["n"])
        #expect(names(jar, "x2970.test").isEmpty && names(jar, "x3300.test").isEmpty)
    }

    @Test func `a site with many subdomains evicts its own cookies only`() {
        var jar = CookieJar()
        jar.set(cookie("login", age: 1000, domain: "other.test"), isSecure: true, now: now)
        for level in 0..<40 {
            for index in 0..<100 {
                let age = Double(500 - level * 10) - Double(index) / 10
                jar.set(
                    cookie("n\(index)", age: age, domain: "d\(level).x.test"), isSecure: true,
                    now: now)
            }
        }
        #expect(names(jar, "other.test") == ["login"])
        #expect((162...181).contains(jar.count))
        #expect(names(jar, "d39.x.test").contains("n99"))
    }

    @Test(arguments: ["co.uk", "github.io"])
    func `sites below a public suffix have limits of their own`(suffix: String) {
        var jar = CookieJar()
        for site in ["", "a.", "www.a.", "b."] {
            let domain = site + suffix
            for index in 0..<90 {
                jar.set(cookie("n\(index)", age: 1, domain: domain), isSecure: true, now: now)
            }
        }
        #expect(jar.count == 360)
        jar.set(cookie("last", age: 0, domain: "a." + suffix), isSecure: true, now: now)
        #expect(jar.count == 342)
        #expect(names(jar, "b." + suffix).count == 90)
    }

    @Test func `names and paths are distinguished by their bytes`() {
        var jar = CookieJar()
        for name in ["\u{E9}", "e\u{301}"] {
            jar.set(cookie(name, age: 1), isSecure: true, now: now)
        }
        #expect(jar.count == 2)
    }

    private func secure(_ path: String) -> CookieJar {
        var jar = CookieJar()
        let cookie = Cookie(
            name: "id", value: "good", domain: "x.test", path: path, isSecure: true,
            creationDate: now)
        jar.set(cookie, isSecure: true, now: now)
        return jar
    }

    @Test(arguments: [
        ("/docs", "/docs", 1), ("/docs", "/docs/deep", 1), ("/docs", "/", 2), ("/docs", "/x", 2),
        ("/", "/x", 1),
    ])
    func `an insecure cookie cannot shadow a secure cookie at its path or below`(
        path: String, other: String, count: Int
    ) {
        var jar = secure(path)
        let clear = Cookie(
            name: "id", value: "evil", domain: "x.test", path: other, creationDate: now)
        jar.set(clear, isSecure: false, now: now)
        #expect(jar.count == count)
    }

    @Test func `a host-only cookie and a domain cookie of the same name are stored separately`() {
        var jar = CookieJar()
        for domain in ["x.test", ".x.test"] {
            jar.set(cookie("n", age: 1, domain: domain), isSecure: true, now: now)
        }
        #expect(jar.count == 2)
        #expect(names(jar) == ["n", "n"] && names(jar, "www.x.test") == ["n"])
    }
}

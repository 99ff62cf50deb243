import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletPluginHost

@Suite struct PermissionTests {
    @Test(arguments: [
        ("net:API.Example.COM.", "net:api.example.com"), ("net:*", "net:*"),
        ("net:*:443", "net:*:443"), ("net:bücher.example:8443", "net:xn--bcher-kva.example:8443"),
        ("net:*.EXAMPLE.com", "net:*.example.com"), ("net:127.1:80", "net:127.0.0.1:80"),
        ("net:[2001:DB8::0:1]", "net:[2001:db8::1]"), ("net:[::1]:443", "net:[::1]:443"),
        ("env:HOME", "env:HOME"), ("env:a:b", "env:a:b"),
    ])
    func `a permission is normalized`(text: String, form: String) throws {
        #expect(try Permission(text).description == form)
    }

    @Test(arguments: [
        "", "net", "fs:/tmp", "NET:a.example", "http://a.example", "*",
    ])
    func `an unknown kind of permission is reported`(text: String) {
        #expect(throws: Permission.Invalid.unknownKind(text)) { try Permission(text) }
    }

    @Test(arguments: [
        "net:", "net:a.example/path", "net:user@a.example", "net:a.example?", "net:a b",
        "net:a.example:0", "net:a.example:65536", "net:a.example:x", "net:*.", "net:*.127.0.0.1",
        "net:*a.example", "net:a.*.example", "net:**", "net:::1", "net:[::1", "net:a..example",
        "net:1.2.3.4.5", "net:*.*", "net:%61.example", "env:", "env:A=B", "env:A\u{0}",
    ])
    func `a permission with an invalid host or name is refused`(text: String) {
        #expect {
            try Permission(text)
        } throws: { error in
            if case .malformed(text, _)? = error as? Permission.Invalid { true } else { false }
        }
    }

    @Test(arguments: [
        ("net:*", "net:*", true), ("net:*", "net:*.example", true),
        ("net:*", "net:a.example:1", true),
        ("net:*:443", "net:a.example", false), ("net:*:443", "net:a.example:443", true),
        ("net:*.example.com", "net:api.example.com", true),
        ("net:*.example.com", "net:example.com", false),
        ("net:*.example.com", "net:evilexample.com", false),
        ("net:*.example.com", "net:*.a.example.com", true),
        ("net:*.example.com", "net:*.example.com:80", true),
        ("net:*.a.example.com", "net:*.example.com", false),
        ("net:a.example", "net:*", false), ("net:a.example", "net:*.a.example", false),
        ("net:a.example:80", "net:a.example", false), ("net:a.example", "net:a.example:80", true),
        ("env:HOME", "env:HOME", true), ("env:HOME", "env:home", false),
        ("env:a.example", "net:a.example", false),
    ])
    func `a policy covers a permission that is equal or narrower`(
        policy: String, asked: String, isCovered: Bool
    ) throws {
        #expect(try Permission(policy).covers(Permission(asked)) == isCovered)
    }

    private func origin(_ address: String) throws -> Origin {
        try Origin(try #require(URL(string: address)))
    }

    @Test func `grants limit servers, variables and services`() throws {
        let grants = Grants(
            try ["net:*.example.com:443", "net:[::1]", "net:bücher.example", "env:TOKEN"]
                .map(Permission.init))
        for allowed in [
            "https://API.example.com/x", "http://a.b.example.com:443/", "wss://a.example.com",
            "http://[0:0::1]:8080/", "http://BÜCHER.example/", "https://xn--bcher-kva.example./",
        ] {
            #expect(grants.allowsNetwork(to: try origin(allowed)), "\(allowed)")
        }
        for denied in [
            "http://api.example.com/", "https://example.com/", "https://example.com.evil.example/",
            "http://[::2]/", "http://1.2.3.4/",
        ] {
            #expect(!grants.allowsNetwork(to: try origin(denied)), "\(denied)")
        }
        #expect(grants.allowsVariable("TOKEN") && !grants.allowsVariable("token"))
        #expect(grants.allowsService("outlet.http/1") && grants.allowsService("outlet.kv/1"))
        let local = Grants([try Permission("env:TOKEN")])
        #expect(!local.allowsService("outlet.http/1") && !local.allowsService("outlet.http/2"))
        #expect(local.allowsService("outlet.kv/1"))
        #expect(!Grants.none.allowsNetwork(to: try origin("http://a.example")))
    }

    @Test func `a policy withholds the permissions that it does not cover`() throws {
        let asked = ["net:a.example", "env:HOME", "fs:/tmp"]
        let free = PermissionDecision(on: asked, by: nil)
        #expect(free.grants.permissions.map(\.description) == ["net:a.example", "env:HOME"])
        #expect(free.withheld == [] && free.notUnderstood == [.unknownKind("fs:/tmp")])
        let strict = PermissionDecision(on: asked, by: [try Permission("net:*")])
        #expect(strict.withheld == ["env:HOME", "fs:/tmp"])
    }
}

import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

@Suite struct ProtectedPathsTests {
    private func space(_ method: String = "basic", realm: String = "x") -> ProtectionSpace {
        ProtectionSpace(
            host: "a.test", port: 443, protocol: "https", realm: realm,
            authenticationMethod: method)
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test func `Basic authentication covers paths below the last slash`() throws {
        var paths = ProtectedPaths()
        paths.insert(space(), for: try url("https://A.test/docs/index.html?x=1"))
        #expect(paths.space(for: try url("https://a.test:443/docs/other")) == space())
        #expect(paths.space(for: try url("https://a.test/docs/deep/other")) == space())
        #expect(paths.space(for: try url("https://a.test/doc")) == nil)
        #expect(paths.space(for: try url("https://a.test/docs/../open")) == nil)
        #expect(paths.space(for: try url("https://a.test/x/%2e%2e/docs/other")) == space())
        #expect(paths.space(for: try url("https://a.test/")) == nil)
        #expect(paths.space(for: try url("http://a.test/docs/")) == nil)
        #expect(paths.space(for: try url("https://b.test/docs/")) == nil)
        #expect(paths.space(for: try url("https://a.test:8443/docs/")) == nil)
    }

    @Test func `Basic authentication is stored for the normalized path`() throws {
        var paths = ProtectedPaths()
        paths.insert(space(), for: try url("https://a.test/open/../docs/x"))
        #expect(paths.space(for: try url("https://a.test/docs/")) == space())
        #expect(paths.space(for: try url("https://a.test/open/")) == nil)
    }

    @Test func `Digest authentication covers the whole origin`() throws {
        var paths = ProtectedPaths()
        paths.insert(space("digest"), for: try url("https://a.test/docs/index.html"))
        #expect(paths.space(for: try url("https://a.test")) == space("digest"))
    }

    @Test func `the longest matching path is used, and a removed space is not`() throws {
        var paths = ProtectedPaths()
        paths.insert(space(), for: try url("https://a.test/"))
        paths.insert(space(realm: "deep"), for: try url("https://a.test/deep/"))
        #expect(paths.space(for: try url("https://a.test/deep/1"))?.realm == "deep")
        paths.remove(space(realm: "deep"), for: try url("https://a.test/deep/1"))
        #expect(paths.space(for: try url("https://a.test/deep/1"))?.realm == "x")
    }

    @Test func `an origin keeps its last 64 paths`() throws {
        var paths = ProtectedPaths()
        for index in 0..<65 {
            paths.insert(space(realm: "\(index)"), for: try url("https://a.test/\(index)/x"))
        }
        #expect(paths.space(for: try url("https://a.test/0/x")) == nil)
        for index in 1..<65 {
            let found = paths.space(for: try url("https://a.test/\(index)/x"))
            #expect(found?.realm == "\(index)")
        }
    }

    @Test func `the longest matching path is used in any order of insertion`() throws {
        var paths = ProtectedPaths()
        paths.insert(space(realm: "deep"), for: try url("https://a.test/deep/"))
        paths.insert(space(), for: try url("https://a.test/"))
        #expect(paths.space(for: try url("https://a.test/deep/1"))?.realm == "deep")
        #expect(paths.space(for: try url("https://a.test/1"))?.realm == "x")
    }

    @Test func `a storage has a default for each space`() {
        let storage = CredentialStorage()
        let ada = Credential(user: "ada", password: "1")
        let bob = Credential(user: "bob", password: "2")
        storage.set(ada, for: space())
        storage.set(bob, for: space())
        #expect(storage.defaultCredential(for: space()) == ada)
        storage.setDefaultCredential(bob, for: space())
        #expect(storage.defaultCredential(for: space()) == bob)
        #expect(storage.credentials(for: space())?.count == 2)
        storage.remove(bob, for: space())
        #expect(storage.defaultCredential(for: space()) == ada)
        storage.remove(ada, for: space())
        #expect(storage.credentials(for: space()) == nil)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test func `the safest available scheme is used, and a refused credential is not used again`()
        throws
    {
        let storage = CredentialStorage()
        storage.set(Credential(user: "ada", password: "1"), for: space(ProtectionSpace.anyMethod))
        let head = HTTPResponse(
            url: try url("https://a.test/"), statusCode: 401,
            headers: ["WWW-Authenticate": #"Bearer, Basic realm="x", Digest realm="x", nonce="n""#])
        func answer(
            after former: AuthenticationRound?, among schemes: [AuthenticationScheme]
        ) -> AuthenticationRound? {
            AuthenticationRound(answering: head, among: schemes, after: former) {
                storage.answer(to: $0)
            }
        }
        let round = answer(after: nil, among: AuthenticationScheme.allCases)
        #expect(round?.credential.scheme == .digest)
        #expect(round?.challenge?.parameters["nonce"] == "n")
        #expect(answer(after: round, among: AuthenticationScheme.allCases) == nil)
        #expect(answer(after: nil, among: [.bearer, .basic])?.credential.scheme == .basic)
    }

    @Test func `challenges with changing realms are answered at most three times`() throws {
        let storage = CredentialStorage()
        var round: AuthenticationRound?
        var answers = 0
        for number in 0..<10 {
            let realm = space(realm: "\(number)")
            storage.set(Credential(user: "ada", password: "1"), for: realm)
            let head = HTTPResponse(
                url: try url("https://a.test/"), statusCode: 401,
                headers: ["WWW-Authenticate": "Basic realm=\"\(number)\""])
            let next = AuthenticationRound(
                answering: head, among: [.basic], after: round
            ) { storage.answer(to: $0) }
            guard let next else { break }
            answers += 1
            round = next
        }
        #expect(answers == 3)
    }

    @Test func `a stale nonce is answered with the same credential again`() throws {
        let storage = CredentialStorage()
        storage.set(Credential(user: "ada", password: "1"), for: space("digest"))
        func answer(
            _ challenge: String, after former: AuthenticationRound?
        ) throws -> AuthenticationRound? {
            let head = HTTPResponse(
                url: try url("https://a.test/"), statusCode: 401,
                headers: ["WWW-Authenticate": challenge])
            return AuthenticationRound(answering: head, among: [.digest], after: former) {
                storage.answer(to: $0)
            }
        }
        let first = try answer(#"Digest realm="x", nonce="1""#, after: nil)
        #expect(first != nil)
        #expect(try answer(#"Digest realm="x", nonce="2""#, after: first) == nil)
        #expect(try answer(#"Digest realm="x", nonce="2", stale=TRUE"#, after: first) != nil)
    }

    @Test func `no description of a credential contains the password`() {
        let credential = Credential(user: "ada", password: "secret")
        #expect(!"\(credential)".contains("secret"))
        #expect(!String(reflecting: credential).contains("secret"))
        #expect(!"\(Credential(bearerToken: "secret"))".contains("secret"))
    }

    @Test func `no description or dump of settings contains a secret`() {
        var configuration = TransportConfiguration()
        configuration.proxy = .url("http://me:s3cret@proxy.test:8080", except: ["a.test"])
        configuration.proxyCredential = Credential(user: "ada", password: "s3cret")
        configuration.clientCertificate = ClientCertificate(
            certificate: .bytes(Data("s3cret".utf8)), keyPassword: "s3cret")
        let cookie = Cookie(name: "a", value: "s3cret", domain: "h.test")
        var dumped = ""
        dump((configuration, cookie), to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), "\([cookie])", dumped] {
            #expect(!text.contains("s3cret"), "\(text)")
        }
        #expect(dumped.contains("proxy.test:8080") && dumped.contains("ada"), "\(dumped)")
    }
}

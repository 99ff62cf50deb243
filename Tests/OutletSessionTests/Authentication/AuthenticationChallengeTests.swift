import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

@Suite struct AuthenticationChallengeTests {
    private func parsed(_ field: String) -> [String] {
        let response = HTTPResponse(
            url: URL(string: "https://Example.test/a"), statusCode: 401,
            headers: ["WWW-Authenticate": field])
        return AuthenticationChallenge.challenges(in: response).map { challenge in
            let space = challenge.protectionSpace
            let parameters = challenge.parameters.sorted { $0.key < $1.key }
                .map { "\($0.key)=\($0.value)" }
            return ([space.authenticationMethod, space.realm ?? "-"] + parameters)
                .joined(separator: "|")
        }
    }

    @Test(arguments: [
        ("Basic realm=\"a, b\"", ["basic|a, b"]),
        ("Basic", ["basic|-"]),
        ("Negotiate, Basic realm = x", ["negotiate|-", "basic|x"]),
        (
            #"Digest realm="say \"hi\"", qop="auth, auth-int", nonce=abc, Bearer error="x""#,
            [#"digest|say "hi"|nonce=abc|qop=auth, auth-int"#, "bearer|-|error=x"]
        ),
        ("NTLM TlRMTVNTUAACAAAA==", ["ntlm|-"]),
        (" , ,", []), ("", []), ("=x", []), ("Basic realm=\"open", ["basic|open"]),
    ])
    func `a field may hold several challenges`(field: String, expected: [String]) {
        #expect(parsed(field) == expected)
    }

    @Test func `a challenge keeps whether its bytes are UTF-8`() {
        var response = HTTPResponse(url: URL(string: "https://a.test/"), statusCode: 401)
        let bytes = Array("Digest realm=\"".utf8) + [0xFC] + Array("\", nonce=n".utf8)
        response.headers.append(HTTPHeader(name: "www-authenticate", valueBytes: bytes))
        response.headers.append(name: "WWW-Authenticate", value: "Basic realm=\"\u{FC}\"")
        let challenges = AuthenticationChallenge.challenges(in: response)
        #expect(challenges.map(\.isLatin1) == [true, false])
        #expect(challenges.map(\.protectionSpace.realm) == ["\u{FC}", "\u{FC}"])
    }

    @Test func `the protection space has the host and port of the response`() {
        let response = HTTPResponse(
            url: URL(string: "https://Example.test/a"), statusCode: 407,
            headers: ["Proxy-Authenticate": "Basic realm=x"])
        let challenge = AuthenticationChallenge.challenges(in: response).first
        #expect(
            challenge?.protectionSpace
                == .init(
                    host: "example.test", port: 443, protocol: "https", realm: "x",
                    authenticationMethod: "Basic", isProxy: true))
    }
}

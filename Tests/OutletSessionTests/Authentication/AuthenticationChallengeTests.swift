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

import FoundationEssentials
import OutletHTTP
import OutletSession
import Testing

@testable import OutletCurl
import OutletTransport

/// Responses to Digest challenges; the values are those of the example in RFC 7616 §3.9.1, or
/// computed from them.
@Suite struct DigestAnswerTests {
    private let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"

    private func answer(
        _ parameters: [String: String], user: String = "Mufasa", target: String = "/dir/index.html"
    ) -> String? {
        let space = ProtectionSpace(
            host: "www.example.org", port: 80, protocol: "http", realm: "http-auth@example.org",
            authenticationMethod: "digest")
        return DigestAnswer(
            to: AuthenticationChallenge(
                protectionSpace: space,
                parameters: ["nonce": nonce].merging(parameters) { _, new in new }),
            credential: Credential(user: user, password: "Circle of Life"), method: "GET",
            target: target, clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        )?.field.value
    }

    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ("MD5-sess", "e783283f46242139c486a698fec7211d"),
    ])
    func `the Authorization field matches RFC 7616`(algorithm: String, response: String) throws {
        let field = try #require(
            answer(["qop": "auth, auth-int", "opaque": "FQhe", "algorithm": algorithm]))
        #expect(
            field == """
                Digest username="Mufasa", realm="http-auth@example.org", nonce="\(nonce)", \
                uri="/dir/index.html", response="\(response)", algorithm=\(algorithm), \
                opaque="FQhe", qop=auth, nc=00000001, \
                cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
                """)
    }

    @Test func `the response to a challenge without qop has no qop`() throws {
        let field = try #require(answer([:]))
        #expect(field.contains(#"response="7b2cc3b30e75b4777ea31027084363fd""#))
        #expect(!field.contains("qop") && !field.contains("algorithm"))
    }

    @Test func `bytes that are not UTF-8 are hashed and sent back as received`() throws {
        let space = ProtectionSpace(
            host: "www.example.org", port: 80, protocol: "http", realm: "Gesch\u{FC}tzt",
            authenticationMethod: "digest")
        var challenge = AuthenticationChallenge(
            protectionSpace: space,
            parameters: ["nonce": "n\u{E9}", "qop": "auth", "opaque": "\u{FF}"])
        challenge.isLatin1 = true
        let answer = try #require(
            DigestAnswer(
                to: challenge, credential: Credential(user: "Mufasa", password: "Circle of Life"),
                method: "GET", target: "/dir/index.html",
                clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"))
        let expected =
            Array("Digest username=\"Mufasa\", realm=\"Gesch".utf8) + [0xFC]
            + Array("tzt\", nonce=\"n".utf8)
            + [0xE9]
            + Array(
                "\", uri=\"/dir/index.html\", response=\"6e4263fbe51a27a1c85bc933b5769084\", opaque=\""
                    .utf8) + [0xFF]
        #expect(answer.field.valueBytes.starts(with: expected))
        #expect(answer.field.isLatin1)
    }

    @Test func `a challenge with unknown parameters or control characters gets no response`() {
        #expect(answer(["algorithm": "SHA-3"]) == nil)
        #expect(answer(["qop": "auth-int"]) == nil)
        #expect(answer([:], user: "a\r\nX: y") == nil)
        // A quotation mark with a combining mark is one `Character`, unequal to `"`, but must be
        // escaped as well.
        let odd = answer(
            ["opaque": "\"\u{301}, realm=\"x", "qop": "auth"], user: "a\"\u{301}b\\\u{FE0F}")
        #expect(odd?.contains("username=\"a\\\"\u{301}b\\\\\u{FE0F}\"") == true)
        #expect(odd?.contains("opaque=\"\\\"\u{301}, realm=\\\"x\"") == true)
        #expect(answer(["qop": "auth", "opaque": "a\rb"]) == nil)
        #expect(answer(["qop": "auth"], user: #"a"b\c"#)?.contains(#"username="a\"b\\c""#) == true)
    }
}

import CCurl
import Testing

@testable import OutletCurl

@Suite struct `The wire log` {
    private func shown(_ kind: curl_infotype, _ pieces: String...) -> [String] {
        var log = WireLog()
        return pieces.flatMap { piece in
            Array(piece.utf8).withUnsafeBytes { log.lines(kind, $0) }
        }
    }

    @Test(arguments: [
        ("Authorization: Bearer abc.def", "Authorization: Bearer •••"),
        ("authorization: secret", "authorization: •••"),
        ("Proxy-Authorization: Basic eHg=", "Proxy-Authorization: Basic •••"),
        ("Cookie: a=1; b=2", "Cookie: a=•••; b=•••"),
        ("Set-Cookie: id=42; Path=/", "Set-Cookie: id=•••; Path=/"),
        ("X-Api-Key: k", "X-Api-Key: •••"), ("X-Goog-Api-Key: k", "X-Goog-Api-Key: •••"),
        ("X-Vault-Token: k", "X-Vault-Token: •••"),
        ("Content-Type: text/plain", "Content-Type: text/plain"),
        ("Cookie : a=1", "Cookie : a=•••"), (" folded", "•••"),
        (
            "GET /a?token=1&q=2&api_key=3 HTTP/1.1",
            "GET /a?token=•••&q=2&api_key=••• HTTP/1.1"
        ),
        ("GET /a?pwd=1 HTTP/1.1", "GET /a?pwd=••• HTTP/1.1"),
        (
            "GET http://u:p@h/x?access_token=1 HTTP/1.1",
            "GET http://•••@h/x?access_token=••• HTTP/1.1"
        ),
        ("Location: https://u:p@h/?code=1", "Location: https://•••@h/?code=•••"),
        ("HTTP/1.1 200 OK: fine", "HTTP/1.1 200 OK: fine"),
    ])
    func `secrets in heads are hidden`(line: String, expected: String) {
        #expect(shown(CURLINFO_HEADER_OUT, "\(line)\r\n") == ["> \(expected)"])
        #expect(shown(CURLINFO_HEADER_IN, "\(line)\r\n") == ["< \(expected)"])
    }

    @Test(arguments: [
        ("Server auth using Basic with user 'me'", "Server auth using Basic with user '•••'"),
        ("Proxy auth using Digest with user 'it's'", "Proxy auth using Digest with user '•••'"),
        ("h2h3 [authorization: Bearer x]", "h2h3 [authorization: Bearer •••]"),
        ("h2h3 [:path: /a?token=1]", "h2h3 [:path: /a?token=•••]"),
        ("h2h3 [accept: */*]", "h2h3 [accept: */*]"),
        ("h2h3 [x-vault-token: abc]", "h2h3 [x-vault-token: •••]"),
        ("h2h3 [cookie: a=b[]; c=d]", "h2h3 [cookie: a=•••; c=•••]"),
        ("h2h3 [cookie: a=bcd...", "h2h3 [cookie: a=•••"),
        ("[HTTP/2] [1] [x-api-key: abc]", "[HTTP/2] [1] [x-api-key: •••]"),
        (
            "Issue another request to this URL: 'http://u:p@h/'",
            "Issue another request to this URL: 'http://•••@h/'"
        ),
    ])
    func `secrets in libcurl's informational text are hidden`(line: String, expected: String) {
        #expect(shown(CURLINFO_TEXT, "\(line)\n") == ["* \(expected)"])
    }

    @Test func `a header line that is sent in pieces is logged when it is complete`() {
        #expect(
            shown(CURLINFO_HEADER_OUT, "A: b\r\nAuthoriz", "ation: Bearer se", "cret\r\n\r\n")
                == ["> A: b", "> Authorization: Bearer •••"])
    }

    @Test func `terminal control characters are not written unchanged`() {
        #expect(shown(CURLINFO_HEADER_IN, "A: \u{1B}[2Jb\r\n").first?.contains("\u{1B}") == false)
    }
}

import Testing

@testable import OutletCurl

@Suite struct `The wire log` {
    @Test(arguments: [
        ("Authorization: Bearer abc.def", "Authorization: Bearer •••"),
        ("authorization: secret", "authorization: •••"),
        ("Proxy-Authorization: Basic eHg=", "Proxy-Authorization: Basic •••"),
        ("Cookie: a=1; b=2", "Cookie: a=•••"),
        ("Set-Cookie: id=42; Path=/", "Set-Cookie: id=•••"),
        ("X-Api-Key: k", "X-Api-Key: •••"),
        ("Content-Type: text/plain", "Content-Type: text/plain"),
        (
            "GET /a?token=1&q=2&api_key=3 HTTP/1.1",
            "GET /a?token=•••&q=2&api_key=••• HTTP/1.1"
        ),
        (
            "GET http://u:p@h/x?access_token=1 HTTP/1.1",
            "GET http://•••@h/x?access_token=••• HTTP/1.1"
        ),
        ("Location: https://u:p@h/?code=1", "Location: https://•••@h/?code=•••"),
        ("HTTP/1.1 200 OK: fine", "HTTP/1.1 200 OK: fine"),
    ])
    func `hides secrets in heads`(line: String, shown: String) {
        #expect(WireLog.redactedHeader(line) == shown)
    }

    @Test(arguments: [
        ("Server auth using Basic with user 'me'", "Server auth using Basic with user '•••'"),
        ("h2h3 [authorization: Bearer x]", "h2h3 [authorization: Bearer •••]"),
        ("h2h3 [:path: /a?token=1]", "h2h3 [:path: /a?token=•••]"),
        ("h2h3 [accept: */*]", "h2h3 [accept: */*]"),
        (
            "Issue another request to this URL: 'http://u:p@h/'",
            "Issue another request to this URL: 'http://•••@h/'"
        ),
    ])
    func `hides secrets in libcurl's remarks`(line: String, shown: String) {
        #expect(WireLog.redactedText(line) == shown)
    }
}

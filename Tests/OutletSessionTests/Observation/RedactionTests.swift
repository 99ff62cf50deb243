import FoundationEssentials
import OutletHTTP
import OutletSession
import Testing

@Suite struct RedactionTests {
    let rules = Redaction.standard

    @Test(arguments: [
        ("Authorization", "Bearer abc", "Bearer •••"), ("authorization", "abc", "•••"),
        ("Cookie", "a=1; b=2", "a=•••; b=•••"), ("Cookie", "odd", "•••"),
        ("Set-Cookie", "sid=abc; Path=/; HttpOnly", "sid=•••; Path=/; HttpOnly"),
        ("X-API-Key", "abc", "•••"), ("X-My-Token", "abc", "•••"),
        ("Location", "https://u:p@h/?code=1&x=2", "https://•••@h/?code=•••&x=2"),
        ("Content-Type", "text/plain", "text/plain"), ("Idempotency-Key", "7", "7"),
    ])
    func `of a field only what is no secret is shown`(
        name: String, value: String, shown: String
    ) {
        #expect(rules.value(of: HTTPHeader(name: name, value: value)) == shown)
    }

    @Test(arguments: [
        ("https://me:pw@host:8443/p?q=1", "https://•••@host:8443/p?q=1"),
        ("https://host/?access_token=abc&page=2#f", "https://host/?access_token=•••&page=2#f"),
        (
            "https://host/?apiKey=a&accessKey=b&keyword=c",
            "https://host/?apiKey=•••&accessKey=•••&keyword=c"
        ),
        ("https://host/?pass%77ord=a", "https://host/?pass%77ord=•••"),
        ("https://host/@me?flag&X-Amz-Signature=a", "https://host/@me?flag&X-Amz-Signature=•••"),
    ])
    func `of an address only what is no secret is shown`(address: String, shown: String) {
        #expect(rules.address(address) == shown)
    }

    @Test func `members of JSON are hidden at every depth, null and the rest are kept`() {
        let body = Data(
            #"{"user":"me","password":"x","in":[{"apiToken":{"a":1}},{"pin":null}]}"#.utf8)
        #expect(
            rules.body(body, contentType: "application/json; charset=utf-8")
                == #"{"user":"me","password":"•••","in":[{"apiToken":"•••"},{"pin":null}]}"#)
    }

    @Test func `parameters of a form are hidden by name`() {
        let body = Data("user=me&password=x".utf8)
        #expect(
            rules.body(body, contentType: "application/x-www-form-urlencoded")
                == "user=me&password=•••")
    }

    @Test func `a body without secrets keeps its spelling, one that is no text has none`() {
        let body = Data(#"{ "a" : 1.0 }"#.utf8)
        #expect(rules.body(body, contentType: "application/json") == #"{ "a" : 1.0 }"#)
        #expect(rules.body(Data([0xFF, 0xFE]), contentType: "text/plain") == nil)
        #expect(rules.body(Data([0x41, 0]), contentType: "text/plain") == nil)
    }

    @Test func `without rules everything is shown`() {
        let header = HTTPHeader(name: "Authorization", value: "Bearer abc")
        #expect(Redaction.none.value(of: header) == "Bearer abc")
        #expect(Redaction.none.address("https://u:p@h/?token=a") == "https://u:p@h/?token=a")
        #expect(
            Redaction.none.body(Data(#"{"token":1}"#.utf8), contentType: "application/json")
                == #"{"token":1}"#)
    }
}

import FoundationEssentials
import OutletHTTP
import Testing

@Suite struct RedactionTests {
    let rules = Redaction.standard

    @Test(arguments: [
        ("Authorization", "Bearer abc", "Bearer •••"), ("authorization", "abc", "•••"),
        ("Proxy-Authorization", "Basic abc", "Basic •••"),
        ("Cookie", "a=1; b=2", "a=•••; b=•••"), ("Cookie", "odd", "•••"),
        ("Set-Cookie", "sid=abc; Path=/; HttpOnly", "sid=•••; Path=/; HttpOnly"),
        ("X-API-Key", "abc", "•••"), ("X-My-Token", "abc", "•••"),
        ("Location", "https://u:p@h/?code=1&x=2", "https://•••@h/?code=•••&x=2"),
        ("Content-Type", "text/plain", "text/plain"), ("Idempotency-Key", "7", "7"),
        ("X-Goog-Api-Key", "abc", "•••"), ("X-Vault-Token", "abc", "•••"),
        ("X-Functions-Key", "abc", "•••"), ("Cookie2", "abc", "•••"),
        ("X-Session-Id", "abc", "•••"), ("X-Session", "abc", "•••"), ("X-Error-Code", "7", "7"),
        ("SEC-WEBSOCKET-KEY", "abc", "abc"), ("Access-Control-Allow-Credentials", "true", "true"),
        ("Authorization", "abc ", "•••"), ("Authorization", "Basic\tabc", "Basic •••"),
        ("Authorization", "a=b,Basic abc", "•••"),
        ("Set-Cookie", "a=1; Path=/, b=2; c=3; Secure", "a=•••;•••;•••; Secure"),
        ("Cookie", "a=\"1;2\"; b=3", "a=•••;•••; b=•••"),
        ("Referer", "/cb#access_token=abc", "/cb#access_token=•••"),
        ("Location", "?password=a b&c=d", "?password=•••&c=d"),
        ("Link", "<https://h/?token=abc>; rel=\"next\"", "<https://h/?token=•••>; rel=\"next\""),
        ("Refresh", "0; url=https://u:p@h/?token=abc", "0; url=https://•••@h/?token=•••"),
        ("WWW-Authenticate", "Negotiate YII=", "Negotiate •••"),
        ("WWW-Authenticate", "Negotiate, Basic realm=\"a, b\"", "Negotiate, Basic realm=\"a, b\""),
        (
            "WWW-Authenticate", "Digest realm=\"a\", nonce=\"b\", qop=\"auth\", Bearer",
            "Digest realm=\"a\", nonce=•••, qop=\"auth\", Bearer"
        ),
        ("X-Json", #"{"token": "abc", "a": 1}"#, #"{"token": "•••", "a": 1}"#),
        ("X-Log", "[http://h/?token=abc]", "[http://h/?token=•••]"),
        ("Location", "/?q=%5Bx%5D%20http%3A%2F%2Fh%2F%3Ftoken%3Dabc", "/?q=•••"),
        ("Location", #"/?q={"token":"abc"}&x=1"#, #"/?q={"token":"•••"}&x=1"#),
        ("Location", "/?q=%7B%22token%22:%22abc%22%7D&x=1", "/?q=•••&x=1"),
        ("Location", "/?q=%7B%22a%22:%22abc%22%7D", "/?q=%7B%22a%22:%22abc%22%7D"),
        ("Authentication-Info", "rspauth=\"a\", nc=00000001", "rspauth=•••, nc=00000001"),
    ])
    func `secrets in a field are hidden`(
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
        (
            "https://h/?pwd=a&%70assword=b&%2570wd=c",
            "https://h/?pwd=•••&%70assword=•••&%2570wd=•••"
        ),
        (
            "https://h/?my+password=a&API%20key=b&x=c+d",
            "https://h/?my+password=•••&API%20key=•••&x=c+d"
        ),
        ("https://h/?a=1;token=b;c=d&e=f", "https://h/?a=1;token=•••&e=f"),
        ("https://h/?password=a;b=c&e=f", "https://h/?password=•••&e=f"),
        ("https://h/a;jsessionid=b/c;d=e?f=g", "https://h/a;jsessionid=•••/c;d=e?f=g"),
        ("https://h/token=a/b", "https://h/token=•••/b"),
        ("https://h/#access_token=a&state=b", "https://h/#access_token=•••&state=b"),
        ("https://h/#/cb?id_token=a", "https://h/#/cb?id_token=•••"),
        ("https://u:p@w@h/", "https://•••@h/"), ("https://ghp_abc@h/", "https://•••@h/"),
        ("https://u:p/w@h/", "https://•••@h/"), ("https://u:p?w@h/", "https://•••@h/"),
        ("https://u:p#w@h/", "https://•••@h/"), ("u:p@h:80", "•••@h:80"),
        ("//u:p@h/x", "//•••@h/x"), ("https:/u:p@h/", "•••@h/"),
        ("https:///u:p@h/x", "https:///•••@h/x"), ("https:////u@h/x", "https:////•••@h/x"),
        ("https://h/?next=http:///u:p@i/", "https://h/?next=http:///•••@i/"),
        ("http:/u:p@h/", "•••@h/"), ("http://http:/u:p@h/", "http://•••@h/"),
        ("file:///u/a@b", "file:///u/a@b"), ("https:///p/a@b", "https:///p/a@b"),
        ("https://[::1]:80/a@b", "https://[::1]:80/a@b"), ("http://h:80/a@b", "http://h:80/a@b"),
        ("https://u:\u{301}@h/", "https://•••@h/"),
        (
            "https://u:p@\u{FE0F}h/?token=a&\u{301}b=c",
            "https://•••@\u{FE0F}h/?token=•••&\u{301}b=c"
        ),
        ("https://h/?next=https://u:p@i/?token=a", "https://h/?next=https://•••@i/?token=•••"),
        ("https://h/?next=https%3A%2F%2Fu%3Ap%40i%2F", "https://h/?next=•••"),
        ("https://h/?next=%2Fcb%3Fcode%3Da&x=y%20z", "https://h/?next=•••&x=y%20z"),
        ("https://h/?n=%252Fcb%253Fcode%253Da", "https://h/?n=•••"),
        ("https://h/p/https://u:p@i/?sig=a", "https://h/p/https://•••@i/?sig=•••"),
        ("https://h/p/https%3A%2F%2Fu%3Ap%40i", "https://h/p/•••"),
        ("https://h/?token=https://i/a&b=c", "https://h/?token=•••&b=c"),
        ("https://h/?password%3Da", "https://h/?•••"),
        (
            "https://h/?sig=a&X-Goog-Signature=b&AWSAccessKeyId=c&sv=d",
            "https://h/?sig=•••&X-Goog-Signature=•••&AWSAccessKeyId=•••&sv=d"
        ),
        ("https://h/?user[password]=a&key1=b", "https://h/?user[password]=•••&key1=•••"),
        ("https://h/?me@x.org&time=12:30", "https://h/?me@x.org&time=12:30"),
        ("https://h/100%?a=5%&b=%zz", "https://h/100%?a=5%&b=%zz"),
    ])
    func `secrets in a URL are hidden`(address: String, shown: String) {
        #expect(rules.address(address) == shown)
    }

    @Test func `secret JSON members are hidden at every depth, and null is kept`() {
        let body = Data(
            #"{"user":"me","password":"x","in":[{"apiToken":{"a":1}},{"pin":null}]}"#.utf8)
        #expect(
            rules.body(body, contentType: "application/json; charset=utf-8")
                == #"{"user":"me","password":"•••","in":[{"apiToken":"•••"},{"pin":null}]}"#)
    }

    @Test(arguments: ["text/plain", nil])
    func `a body that begins like JSON behind a byte order mark is hidden as JSON`(type: String?) {
        let body = Data("\u{FEFF}{\"password\":\"geheim\"}".utf8)
        #expect(rules.body(body, contentType: type) == "\u{FEFF}{\"password\":\"•••\"}")
    }

    @Test func `JSON and URLs that contain each other are hidden without deep recursion`() {
        var text = #"{"token":"geheim"}"#
        for _ in 0..<150 {
            let encoded = text.utf8.map { byte in
                byte.isAlpha || byte.isDigit
                    ? String(decoding: [byte], as: UTF8.self) : "%" + String(byte, radix: 16)
            }
            text = #"["/?q=\#(encoded.joined())"]"#
        }
        #expect(rules.body(Data(text.utf8), contentType: nil) == #"["/?q=•••"]"#)
    }

    @Test func `a deeply nested URL is hidden without deep recursion`() {
        let address = String(repeating: "http://h/?a=", count: 1000) + "http://h/?token=secret"
        #expect(!rules.address(address).contains("secret"))
        #expect(rules.address(address).hasPrefix("http://h/?a=http://h/?a="))
    }

    @Test(arguments: [
        ("h.test: refused: http://u:p@h/?token=a.", "h.test: refused: http://•••@h/?token=•••."),
        ("proxy u:p@h:80 (password='a b', sid=\"c d\")", "proxy •••@h:80 (password=•••, sid=•••)"),
        ("token = abc, next", "token = ••• next"), ("a token =abc;", "a token =•••"),
        ("password= abc x", "password= ••• x"), ("pwd\t= 'a b' x", "pwd\t= ••• x"),
        ("password = \"two \\\" words\" x", "password = ••• x"),
        ("password = \"two", "password = •••"),
        ("the token == nil", "the token == nil"), ("token =", "token ="), ("token = ", "token = "),
        ("size = 12 token", "size = 12 token"),
        (#"got {"password": "two \"w\" x", "a": 1}"#, #"got {"password": "•••", "a": 1}"#),
        (#"got "{\"token\":\"a\\\"b\",\"n\":1}""#, #"got "{\"token\":\"•••\",\"n\":1}""#),
        (#""{\"token\":\"a\\\\\",\"n\":1}""#, #""{\"token\":\"•••\",\"n\":1}""#),
        (#"{"key": 12, "x": "token"}"#, #"{"key": •••, "x": "token"}"#),
        (#"{"tokens": ["a]", {"b": "c"}], "x": [1]}"#, #"{"tokens": •••, "x": [1]}"#),
        (#""{\"secret\":{\"v\":\"a}\"},\"n\":1}""#, #""{\"secret\":•••,\"n\":1}""#),
        (#"{"password": {"v": "abc"#, #"{"password": •••"#),
        (#"{"token": "abc"#, #"{"token": "•••""#), (#"{"token": "#, #"{"token": "#),
        (#"\\\"token\\\": \\\"a\\\\\\\"b\\\" c"#, #"\\\"token\\\": \\\"•••\\\" c"#),
        ("12:30 me@x.org, 50% of a=b", "12:30 me@x.org, 50% of a=b"),
    ])
    func `secrets in a text are hidden`(text: String, shown: String) {
        #expect(rules.text(text) == shown)
    }

    @Test(arguments: [
        (#"{"pass\u0077ord" : "x", "a" : 1}"#, #"{"pass\u0077ord" : "•••", "a" : 1}"#),
        (#"{"a":1,"token":{"b":["}",1]}}"#, #"{"a":1,"token":"•••"}"#),
        (#"{"pin":1234,"a":2}"#, #"{"pin":"•••","a":2}"#),
        (#"{"a":1,"password":"cut o"#, #"{"a":1,"password":"•••""#),
        ("{\"token\":1}\n{\"token\":2}\n", "{\"token\":\"•••\"}\n{\"token\":\"•••\"}\n"),
        (#"{"next":"https:\/\/u:p@h\/?code=1"}"#, #"{"next":"https://•••@h/?code=•••"}"#),
        (#"{"a":"{\"token\":\"x\"}"}"#, #"{"a":"{\"token\":\"•••\"}"}"#),
        (#"["[\"{\\\"pin\\\":1}\"]"]"#, #"["[\"{\\\"pin\\\":\\\"•••\\\"}\"]"]"#),
        (#"{"a":"[x] http://h/?token=b"}"#, #"{"a":"[x] http://h/?token=•••"}"#),
        (#"["say \"token\": 1", "a"]"#, #"["say \"token\": 1", "a"]"#),
    ])
    func `secret members are hidden in JSON text, even if it is malformed`(
        text: String, shown: String
    ) {
        for type in ["application/json", "Application/Vnd.API+JSON; a=b", "text/plain", nil] {
            #expect(rules.body(Data(text.utf8), contentType: type) == shown)
        }
    }

    @Test func `secrets in multipart bodies are hidden by part name and content type`() {
        let parts = [
            "Content-Disposition: form-data; name=\"user\"\r\n\r\nme",
            "content-disposition: form-data;\r\n name=\"pass\\word\"\r\n\r\nsecret\r\nsecret",
            "Content-Disposition: form-data; name=token; filename=\"a;b\"\r\n\r\nsecret",
            "Content-Disposition: form-data; name=\"json\"\r\nContent-Type: application/json\r\n\r\n"
                + "{\"token\":\"secret\"}",
        ]
        let body = parts.map { "--x\r\n\($0)\r\n" }.joined() + "--x--\r\n"
        var data = Data(body.utf8)
        for type in [
            "multipart/form-data; boundary=\"x\"", "Multipart/Form-Data; Boundary=x",
            "multipart/mixed",
        ] {
            let shown = rules.body(data, contentType: type) ?? ""
            #expect(!shown.contains("secret"))
            #expect(shown.contains("\r\n\r\nme\r\n--x\r\n") && shown.hasSuffix("\r\n--x--\r\n"))
            #expect(shown.contains("\r\n\r\n•••\r\n--x\r\n"))
            #expect(shown.contains("{\"token\":\"•••\"}"))
        }
        // Bytes that are not text do not prevent the scan of other bytes.
        data.insert(0xFF, at: 0)
        let bytes = rules.bodyBytes(data, contentType: "multipart/form-data; boundary=x")
        #expect(Data(bytes).firstRange(of: Data("secret".utf8)) == nil)
    }

    /// Encodings whose bytes are not those of UTF-8, with the name of the charset.
    static let wideEncodings: [(charset: String, encoding: String.Encoding)] = [
        ("utf-16", .utf16), ("UTF-16LE", .utf16LittleEndian), ("utf-16be", .utf16BigEndian),
        ("utf-32", .utf32), ("utf-32le", .utf32LittleEndian), ("utf-32be", .utf32BigEndian),
    ]

    @Test(arguments: wideEncodings.indices)
    func `bodies in UTF-16 and UTF-32 in which names cannot be found are hidden`(index: Int) throws
    {
        let (charset, encoding) = Self.wideEncodings[index]
        let json = try #require(#"{"access_token":"secret"}"#.data(using: encoding))
        let form = try #require("a=1&password=secret".data(using: encoding))
        let blank = try #require("\n [\"secret\"]".data(using: encoding))
        let part = Data("--x\r\nContent-Type: application/json\r\n\r\n".utf8) + json
        for (body, type) in [
            (json, "application/json"), (json, "application/json; charset=\(charset)"),
            (json, nil), (json, "text/html"), (blank, "text/plain"), (form, nil),
            (form, "application/x-www-form-urlencoded"),
            (form, "text/plain; charset=\"\(charset)\""),
            (form, "multipart/form-data; boundary=x"), (form, "multipart/form-data"),
        ] as [(Data, String?)] {
            #expect(rules.body(body, contentType: type) == "•••", "\(type ?? "no type")")
        }
        let parts = rules.body(
            part + Data("\r\n--x--".utf8), contentType: "multipart/mixed; boundary=x")
        #expect(parts == "--x\r\nContent-Type: application/json\r\n\r\n•••\r\n--x--")
    }

    @Test func `binary bodies are kept unless they look like text`() {
        // Such as the first bytes of a film and of an image.
        let bodies: [[UInt8]] = [
            [0, 0, 0, 0x20, 0x66, 0x74], [0x89, 0x50, 0, 0x4E], [0, 0, 0, 0],
        ]
        for bytes in bodies {
            #expect(rules.bodyBytes(Data(bytes), contentType: nil) == bytes)
        }
    }

    @Test func `parts with a Content-Transfer-Encoding are hidden`() {
        for (coding, isShown) in [("base64", false), ("Quoted-Printable", false), ("8BIT", true)] {
            let body =
                "--x\r\nContent-Type: application/json\r\ncontent-transfer-encoding: \(coding)\r\n\r\n"
                + "eyJ0b2tlbiI6InNlY3JldCJ9\r\n--x--\r\n"
            let shown = rules.body(Data(body.utf8), contentType: "multipart/mixed; boundary=x")
            #expect(shown?.contains("eyJ0b2tlbiI6InNlY3JldCJ9") == isShown)
        }
    }

    @Test func `a request's body with a content coding is not shown`() {
        let data = Data("a".utf8)
        #expect(rules.requestBody(data, of: ["Content-Encoding": "deflate"]) == nil)
        #expect(rules.requestBody(data, of: ["Content-Encoding": "Identity"]) == data)
        #expect(Redaction.none.requestBody(data, of: ["Content-Encoding": "deflate"]) == data)
    }

    @Test func `form parameters are hidden by name`() {
        let nested = Data("a=%7B%22token%22%3A%22x%22%7D&b=1".utf8)
        let type = "application/x-www-form-urlencoded"
        #expect(rules.body(nested, contentType: type) == "a=•••&b=1")
        let body = Data("user=me&password=x".utf8)
        #expect(
            rules.body(body, contentType: "application/x-www-form-urlencoded")
                == "user=me&password=•••")
    }

    @Test(arguments: [
        // As `URLComponents`, browsers and curl write spaces.
        ("a=%7B%22password%22%3A+%22x%22%7D&b=1", "a=•••&b=1"),
        (#"a={"password":+"x"}&b=1"#, "a=•••&b=1"),
        ("next=%2Fcb%3Fd%3D%7B%22token%22%3A+%22x%22%7D", "next=•••"),
        ("a=%7B%22text%22%3A+%22x+y%22%7D", "a=%7B%22text%22%3A+%22x+y%22%7D"),
        ("a=1+1%3D2&b=x+y", "a=1+1%3D2&b=x+y"),
    ])
    func `JSON in a parameter is recognized with a plus sign for each space`(
        text: String, shown: String
    ) {
        #expect(rules.parameters(text) == shown)
        #expect(rules.address("http://h.test/?\(text)") == "http://h.test/?\(shown)")
    }

    @Test(arguments: ["\n", "\r\n", "\n\n"])
    func `a form without a type is recognized although a line break ends it`(end: String) {
        #expect(
            rules.body(Data("a=1&token=x\(end)".utf8), contentType: nil) == "a=1&token=•••\(end)")
        // A text of several lines is none.
        let lines = "token=x\ny\(end)"
        #expect(rules.body(Data(lines.utf8), contentType: nil) == lines)
    }

    @Test func `a body without secrets is unchanged, and a binary body is not shown`() {
        let body = Data(#"{ "a" : 1.0 }"#.utf8)
        #expect(rules.body(body, contentType: "application/json") == #"{ "a" : 1.0 }"#)
        #expect(rules.body(Data([0xFF, 0xFE]), contentType: "text/plain") == nil)
        #expect(rules.body(Data([0x41, 0]), contentType: "text/plain") == nil)
    }

    @Test func `without rules nothing is hidden`() {
        let header = HTTPHeader(name: "Authorization", value: "Bearer abc")
        #expect(Redaction.none.value(of: header) == "Bearer abc")
        #expect(Redaction.none.address("https://u:p@h/?token=a") == "https://u:p@h/?token=a")
        #expect(
            Redaction.none.body(Data(#"{"token":1}"#.utf8), contentType: "application/json")
                == #"{"token":1}"#)
    }

    @Test(arguments: [
        ("userPin", true), ("pinUser", true), ("hotelKey", true), ("clientJwt", true),
        ("monkey", false), ("spinner", false), ("Keyboard", false), ("keyed", false),
    ])
    func `a secret word inside a camel-case name is recognized`(name: String, isHidden: Bool) {
        #expect(Redaction.standard.hidesParameter(named: name) == isHidden)
    }

    @Test(arguments: [
        "https://a.test/key=https://b.test/geheim", "/x;code=https://b.test/geheim",
        "pin=https://b.test/geheim",
    ])
    func `a secret that is a URL is hidden completely`(address: String) {
        #expect(!Redaction.standard.address(address).containsBytes(of: "geheim"))
    }
}

import FoundationEssentials
import Outlet
import Testing

@testable import OutletCLI

private func item(_ text: String) throws -> RequestItem {
    try RequestItem(parsing: text) { path throws(CommandError) in Array("<\(path)>\n".utf8) }
}

@Suite struct RequestItemTests {
    @Test(arguments: [
        ("Name:value", RequestItem.header(name: "Name", value: "value")),
        ("Host:a:80", .header(name: "Host", value: "a:80")),
        ("Name:", .unsetHeader(name: "Name")),
        ("Name;", .emptyHeader(name: "Name")),
        ("X:@f", .header(name: "X", value: "<f>")),
        ("q==1", .query(name: "q", value: "1")),
        ("q==", .query(name: "q", value: "")),
        ("q==a=b", .query(name: "q", value: "a=b")),
        ("q==@f", .query(name: "q", value: "<f>")),
        ("a=b", .text(name: "a", value: "b")),
        ("a=b:c", .text(name: "a", value: "b:c")),
        ("a=@f", .text(name: "a", value: "<f>\n")),
        ("a:=3", .json(name: "a", value: 3)),
        ("a:=[1,{\"b\":null}]", .json(name: "a", value: [1, ["b": nil]])),
        ("@f", .bodyFile(path: "f")),
        (#"a\:b=c"#, .text(name: "a:b", value: "c")),
        (#"a\==b"#, .text(name: "a=", value: "b")),
        (#"a=C:\dir"#, .text(name: "a", value: #"C:\dir"#)),
        (#"a\[b]=1"#, .text(name: #"a\[b]"#, value: "1")),
        ("é=ü", .text(name: "é", value: "ü")),
        ("@\u{301}f", .bodyFile(path: "\u{301}f")),
        ("a=\u{301}b", .text(name: "a", value: "\u{301}b")),
        ("a\u{37E}b=c", .text(name: "a\u{37E}b", value: "c")),
    ])
    func `an item is read by its first separator`(text: String, expected: RequestItem) throws {
        #expect(try item(text) == expected)
    }

    @Test(arguments: [
        ("novalue", "item 1: has no separator"),
        ("a;b", "item 'a;•••': text behind ';'"),
        ("Cookie;b", "item 'Cookie;•••': text behind ';'"),
        (
            "https://u:p@a/?pwd=b",
            "item 'https://•••@a/?pwd=•••': a second URL, one request has one"
        ),
        (":x", "item 1: a header without a name"),
        ("http://a/", "item 'http://a/': a second URL, one request has one"),
        (
            "a:=nope",
            "item 'a:=': not JSON at byte 1 (line 1, column 2): found 'o', expected 'null'"
        ),
    ])
    func `the error for a wrong item names it`(text: String, message: String) {
        let error = #expect(throws: CommandError.self) { try item(text) }
        #expect(error?.message == message)
        #expect(error?.exitCode == .usage)
    }
}

@Suite struct NestedFieldTests {
    private func build(_ fields: [(String, JSONValue)]) throws -> String? {
        var root: JSONValue?
        for (name, value) in fields {
            try NestedField(parsing: name).set(value, in: &root, name: name)
        }
        return root?.text()
    }

    @Test func `names with brackets create objects and arrays`() throws {
        let text = try build([
            ("a[b][c]", 1), ("a[b][d]", 2), ("l[]", "x"), ("l[]", "y"), ("l[3]", "z"),
            ("e[][k]", 1),
        ])
        #expect(
            text == #"{"a":{"b":{"c":1,"d":2}},"l":["x","y",null,"z"],"e":[{"k":1}]}"#)
    }

    @Test func `the root may be an array`() throws {
        #expect(try build([("[]", 1), ("[]", 2), ("[0]", 3)]) == "[3,2]")
    }

    @Test func `escapes keep brackets and digits as names`() throws {
        #expect(try build([(#"a\[b\]"#, 1), (#"c[\0]"#, 2)]) == #"{"a[b]":1,"c":{"0":2}}"#)
    }

    @Test func `a later value replaces an earlier one`() throws {
        #expect(try build([("a", 1), ("a", 2)]) == #"{"a":2}"#)
    }

    @Test(arguments: [
        ("a[b", "field 'a[b': ']' is missing"),
        ("a[b]c", "field 'a[b]c': text behind ']'"),
        ("a[10000]", "field 'a[10000]': index 10000: larger than 9999"),
    ])
    func `the error for a wrong name contains the name`(name: String, message: String) {
        let error = #expect(throws: CommandError.self) { try NestedField(parsing: name) }
        #expect(error?.message == message)
    }

    @Test func `a name has at most 512 parts`() throws {
        let brackets = String(repeating: "[b]", count: 511)
        #expect(throws: Never.self) { try NestedField(parsing: "a" + brackets) }
        let error = #expect(throws: CommandError.self) {
            try NestedField(parsing: "a[b]" + brackets)
        }
        #expect(error?.message == "a field's name has more than 512 parts")
    }

    @Test func `a value is not replaced by an object`() {
        let error = #expect(throws: CommandError.self) { try build([("a", "x"), ("a[b]", 1)]) }
        #expect(error?.message == "field 'a[b]': a string, not an object, is already there")
    }
}

@Suite struct RequestLineTests {
    @Test(
        arguments: [
            (["host"], nil, "host", []),
            (["get", "host"], "GET", "host", []),
            (["PURGE", "host", "a=b"], "PURGE", "host", ["a=b"]),
            (["localhost", "a=b"], nil, "localhost", ["a=b"]),
            ([":80/x", "A:b"], nil, ":80/x", ["A:b"]),
        ] as [([String], String?, String, [String])])
    func `the method is distinguished from the URL`(
        operands: [String], method: String?, url: String, items: [String]
    ) throws {
        let line = try RequestLine(operands: operands)
        #expect(line.method?.rawValue == method)
        #expect(line.url == url)
        #expect(line.items == items)
    }

    @Test(arguments: ["CONNECT", "connect"])
    func `the method CONNECT is refused, with the reason`(method: String) {
        let error = #expect(throws: CommandError.self) {
            try RequestLine(operands: [method, "host:80"])
        }
        #expect(error?.exitCode == .usage)
        #expect(
            error?.message == "\(method): asks a proxy for a tunnel, not a server for anything")
    }

    @Test(arguments: [[], ["GET"], ["install", "thing"]])
    func `a line without a URL is refused`(operands: [String]) {
        let error = #expect(throws: CommandError.self) { try RequestLine(operands: operands) }
        #expect(error?.exitCode == .usage)
    }
}

@Suite struct URLSugarTests {
    @Test(arguments: [
        (":3000/x", "http://localhost:3000/x"),
        (":/x", "http://localhost/x"),
        (":3000", "http://localhost:3000"),
        ("host/path", "http://host/path"),
        ("host:80?u=http://x", "http://host:80?u=http://x"),
        ("://host", "http://host"),
        ("https://a.b/c?d#e", "https://a.b/c?d"),
        ("[::1]:8080/", "http://[::1]:8080/"),
        ("host/a b", "http://host/a%20b"),
        ("http:8080/x", "http://http:8080/x"),
        ("http/x", "http://http/x"),
        ("HTTP://h", "HTTP://h"),
    ])
    func `short forms of a URL are completed`(text: String, expected: String) throws {
        #expect(try AddressShorthand(text).url.absoluteString == expected)
    }

    @Test(arguments: [
        ("host/", "http://host/?a=b%20%26&c%C3%A9="),
        ("host/?x=1", "http://host/?x=1&a=b%20%26&c%C3%A9="),
    ])
    func `query items are appended to the query`(text: String, expected: String) throws {
        let sugar = try AddressShorthand(text, query: [("a", "b &"), ("cé", "")])
        #expect(sugar.url.absoluteString == expected)
    }

    @Test func `user and password are removed from the URL`() throws {
        let sugar = try AddressShorthand("https://me:p%40ss@host/a@b")
        #expect(sugar.url.absoluteString == "https://host/a@b")
        #expect(sugar.credential == "me:p@ss")
    }

    @Test(arguments: [":8080/x", ":/x", "http://h/x", "https://h/x", "host"])
    func `a method of one's own in small letters is named in the error`(url: String) {
        let error = #expect(throws: CommandError.self) {
            try RequestLine(operands: ["purge", url])
        }
        #expect(error?.message == "purge: neither a verb nor a method")
        #expect(throws: Never.self) { try RequestLine(operands: ["localhost", "X:1"]) }
        #expect(throws: Never.self) { try RequestLine(operands: ["localhost", ":=1"]) }
    }

    @Test(arguments: [
        ("ftp://h/", "ftp://h/: only http and https are spoken, not ftp"),
        ("ws://h/", "ws://h/: only http and https are spoken, not ws"),
        ("WSS://h/", "WSS://h/: only http and https are spoken, not wss"),
        ("http://", "http://: it has no host"),
        ("::1/x", "::1/x: an IPv6 address without brackets"),
        (":abc", "http://:abc: it has no host"),
        (
            ":99999/",
            "http://localhost:99999/: host \"localhost\": port \"99999\" is not a number from 1 to "
                + "65535"
        ),
        ("h:secret/", "http://h:•••: its port is not a number from 1 to 65535"),
        ("[::1]:secret", "http://[::1]:•••: its port is not a number from 1 to 65535"),
        (
            "http://user:sekrit/x@h/",
            "http://•••@h/: host \"user\": its port is not a number from 1 to 65535"
        ),
        (
            "http://user:sekrit#x@h/",
            "http://•••@h/: host \"user\": its port is not a number from 1 to 65535"
        ),
        ("user:%e9@h/", "http://h/: its user name or password is not UTF-8"),
        ("u%ff@h/", "http://h/: its user name or password is not UTF-8"),
        ("user:100%%0a@h/", "http://h/: its password has a control character"),
        ("[::1", "the URL: its bracket is not closed"),
        ("a b/", "the URL: a host has no byte 0x20"),
        ("password=sekrit", "the URL: a host has no '='"),
        ("http://a b/", "http://a b/: host \"a b\": a host has no byte 0x20"),
        (
            "http://token=sekrit",
            "http://token=•••: host \"token=•••\": a host has no '='"
        ),
        ("http://a\\b/", "http://a\\b/: host \"a\\\\b\": a host has no '\\'"),
        ("http:///x", "http:///x: it has no host"),
        ("http:/user:pw@h/", "'http' needs '://' behind it, as in http://•••@h/"),
        ("HTTPS:user:pw@h/", "'HTTPS' needs '://' behind it, as in HTTPS://•••@h/"),
        ("http//user:pw@h/", "'http' needs '://' behind it, as in http://•••@h/"),
        ("http:", "'http' needs '://' behind it, as in http://host/"),
        (
            "http://us%3Aer:secret@h/",
            "http://h/: its user name has a colon, which the Basic scheme cannot send"
        ),
        ("user:sec%0Aret@h/", "http://h/: its password has a control character"),
    ])
    func `an unsupported or invalid URL is refused`(text: String, message: String) {
        let error = #expect(throws: CommandError.self) { try AddressShorthand(text) }
        #expect(error?.message == message)
    }
}

@Suite struct RequestArgumentsTests {
    private func request(_ arguments: String...) throws -> RequestArguments {
        try RequestArguments(ArgumentParser.parse(arguments)) { path throws(CommandError) in
            Array(path.utf8)
        }
    }

    @Test(arguments: [
        [":80", "Authorization:Bearer", "SEKRIT"], [":80", "Authorization:", "Basic", "SEKRIT"],
        [":80", "X-Api-Key:a", "SEKRIT b"],
    ])
    func `the advice for a header without quotes is to quote it`(words: [String]) throws {
        let error = #expect(throws: CommandError.self) {
            try RequestArguments(ArgumentParser.parse(words)) { _ throws(CommandError) in [] }
        }
        #expect(error?.message == "item 2: has no separator")
        #expect(error?.advice.hasPrefix("quote the whole header") == true)
    }

    @Test(arguments: [
        [":80", "a=1", "Authorization Bearer SEKRIT"], [":80", "X-Api-Key SEKRIT"],
        [":80", "password SEKRIT"], [":80", ":SEKRIT"], [":80", "x;SEKRIT"],
        ["POST", "password=SEKRIT"], ["POST", "X-Api-Key SEKRIT"], ["http://token=SEKRIT/"],
        [":80", "--timeout", "u:SEKRIT"], [":80", "--auth-type", "u:SEKRIT"],
        [":80", "--max-redirects", "u:SEKRIT"], [":80", "--max-head-fields", "u:SEKRIT"],
        [":80", "--max-response-size", "u:SEKRIT"],
        [":80", "--max-decompression-ratio", "u:SEKRIT"],
    ])
    func `no error for a wrong command line shows a word that may be a secret`(words: [String]) {
        let error = #expect(throws: CommandError.self) {
            let parsed = try ArgumentParser.parse(words)
            _ = try SessionOptions.configuration(parsed)
            _ = try RequestArguments(parsed) { _ throws(CommandError) in [] }
        }
        #expect(error?.exitCode == .usage && error?.description.contains("SEKRIT") == false)
    }

    @Test func `fields become a JSON object in order`() throws {
        let request = try request(":80", "b=1", "a:=2", "c[d]=x")
        #expect(request.body == .json(["b": "1", "a": 2, "c": ["d": "x"]]))
    }

    @Test func `fields become a form with -f`() throws {
        let request = try request(":80", "-f", "a b=c&d", "n:=3")
        #expect(request.body == .form("a+b=c%26d&n=3"))
    }

    @Test func `headers can be repeated, empty or unset`() throws {
        let request = try request(":80", "A:1", "a:2", "B;", "User-Agent:")
        #expect(request.headers.map(\.description) == ["A: 1", "a: 2", "B: "])
        #expect(request.unsetHeaders == ["User-Agent"])
    }

    @Test func `a credential becomes a header`() throws {
        #expect(try request("u:p@h").headers["Authorization"] == "Basic dTpw")
        #expect(try request("h", "-a", "u:p:q").headers["Authorization"] == "Basic dTpwOnE=")
        #expect(
            try request("h", "--auth-type=bearer", "--auth=t").headers["Authorization"]
                == "Bearer t")
    }

    @Test(arguments: [
        [":80", "a=1", "--raw=x"], [":80", "@f", "a=1"], [":80", "@f", "@g"],
        [":80", "Bad Name:x"], [":80", "X:a\nb"], [":80", "--auth-type=bearer"],
        [":80", "-a", ""], [":80", "Host:"], [":80", "@/tmp"],
    ])
    func `contradicting or invalid items are refused`(arguments: [String]) {
        let error = #expect(throws: CommandError.self) {
            try RequestArguments(ArgumentParser.parse(arguments)) { _ throws(CommandError) in [] }
        }
        #expect(error?.exitCode == .usage)
    }

    @Test func `an empty user name and password in an address are no credential`() throws {
        #expect(try request("http://@h").headers["Authorization"] == nil)
        #expect(try request("http://:@h").headers["Authorization"] == nil)
        #expect(try request("http://:p@h").headers["Authorization"] == "Basic OnA=")
    }

    @Test(arguments: [
        ("us\ner:secret", "its user name has a control character"),
        ("user:sec\u{7F}ret", "its password has a control character"),
    ])
    func `a credential that cannot be sent is refused without the secret`(
        text: String, fact: String
    ) {
        let error = #expect(throws: CommandError.self) { try request("h", "-a", text) }
        #expect(error?.exitCode == .usage)
        #expect(error?.message == "--auth: \(fact)")
    }
}

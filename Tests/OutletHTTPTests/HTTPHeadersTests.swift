import OutletHTTP
import Testing

@Suite struct HTTPHeadersTests {
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nServer: x\r\nset-cookie: a=1\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nX-Set-Cookie: a=1\r\nCookie: Set-Cookie: b\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nStrict-Transport-Security:max-age=1\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nSet-Cookie", false), ("", false),
    ])
    func `containsAny finds received fields by name`(text: String, isThere: Bool) {
        let received = HTTPHeaders(HeaderBlock(bytes: Array(text.utf8)))
        #expect(received.containsAny(of: ["Set-Cookie", "Strict-Transport-Security"]) == isThere)
        let fields = HTTPHeaders(Array(received))
        #expect(fields.containsAny(of: ["Set-Cookie", "Strict-Transport-Security"]) == isThere)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 All fine\r\nA: b\r\n\r\n", "All fine"),
        ("HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n", nil),
        ("HTTP/1.0 200 Not: Here \u{E4}\n\n", "Not: Here \u{E4}"),
        ("HTTP/1.1 200 \r\n\r\n", ""), ("HTTP/1.1 200\r\n\r\n", ""),
        ("HTTP/2 200 \r\nA: b\r\n\r\n", nil), ("A: b\r\n\r\n", nil), ("", nil),
    ])
    func `the reason phrase is that of the status line`(text: String, phrase: String?) {
        var response = HTTPResponse(
            url: nil, statusCode: 200, headers: HTTPHeaders(HeaderBlock(bytes: Array(text.utf8))))
        #expect(response.reasonPhrase == phrase)
        response.headers.add(name: "X-New", value: "1")
        #expect(response.reasonPhrase == phrase)
        response.headers.remove(name: "X-New")
        #expect(response.reasonPhrase == nil)
    }

    @Test func `a reason phrase that is not UTF-8 is Latin-1, and has no line breaks`() {
        let line = Array("HTTP/1.1 200 \r".utf8) + [0xE4] + Array(" x\r\n\r\n".utf8)
        let response = HTTPResponse(
            url: nil, statusCode: 200, headers: HTTPHeaders(HeaderBlock(bytes: line)))
        #expect(response.reasonPhrase == "\u{E4} x")
    }

    @Test func `a name exists once regardless of its case and of how it is added`() {
        let key = HTTPHeader(name: "key", value: "")
        let shouted = HTTPHeader(name: "KEY", value: "")
        var byHand = HTTPHeaders()
        byHand.update(key)
        byHand.update(name: "Key", value: "")
        byHand.add(shouted)
        let all: [HTTPHeaders] = [
            ["key": "", "Key": "", "KEY": ""], HTTPHeaders(["key": "", "Key": "", "KEY": ""]),
            [key, shouted], HTTPHeaders([key, shouted]), byHand,
        ]
        #expect(all.map(\.count) == [1, 1, 1, 1, 1])
    }

    @Test(arguments: [
        (Array("café".utf8), "café"), (Array("caf".utf8) + [0xE9], "café"), ([], ""),
        (Array("caf".utf8) + [0xC3, 0xA9, 0xFF], "cafÃ©ÿ"),
    ])
    func `a value keeps its bytes even if they are not UTF-8`(bytes: [UInt8], text: String) {
        let field = HTTPHeader(name: "Location", valueBytes: bytes)
        let came = received(bytes)
        #expect(field.value == text)
        #expect(field.valueBytes == bytes)
        #expect(came[0] == field)
        #expect(came[0].valueBytes == bytes)
        var changed = came
        changed.update(HTTPHeader(name: "Y", valueBytes: bytes))
        changed.append(field)
        changed.remove(name: "X")
        #expect(changed.map(\.valueBytes) == [bytes, bytes, bytes])
        for position in changed.indices {
            #expect(changed.withValue(at: position) { Array($0) } == bytes)
        }
        #expect(came.withValue(at: 0) { Array($0) } == bytes)
    }

    @Test func `values with the same text and different bytes are not equal`() {
        let latin1 = HTTPHeader(name: "A", valueBytes: [0xE9])
        let utf8 = HTTPHeader(name: "A", value: "\u{E9}")
        #expect(latin1.value == utf8.value)
        #expect(latin1 != utf8)
    }

    /// One received field, whose value is these bytes.
    private func received(_ value: [UInt8]) -> HTTPHeaders {
        let start = Array("HTTP/1.1 200 OK\r\nLocation: ".utf8)
        return HTTPHeaders(HeaderBlock(bytes: start + value + Array("\r\nX: y\r\n\r\n".utf8)))
    }

    @Test(
        arguments: [
            (Array("/café €".utf8), "/café €", "/café €"),
            (Array("/caf".utf8) + [0xE9], "/café", "/caf%E9"),
            // A value that is only partly UTF-8 is not UTF-8.
            ([0xC3, 0xA9, 0xFF, 0x80], "Ã©ÿ\u{80}", "%C3%A9%FF%80"),
        ] as [([UInt8], String, String)])
    func `a received value that is not UTF-8 loses no byte`(
        bytes: [UInt8], value: String, reference: String
    ) {
        #expect(received(bytes)["location"]?.utf8.elementsEqual(value.utf8) == true)
        #expect(received(bytes).reference(for: "location") == reference)
        #expect(HTTPHeaders(Array(received(bytes))).reference(for: "Location") == value)
    }

    @Test(arguments: [
        ("a\rX-B: c", "a X-B: c"), ("a\r", "a"), ("\ra", "a"), ("a\0b", "a b"),
        ("a\r\r\n \t b\0\r\n c", "a b c"),
    ])
    func `a carriage return or a null byte in a received value becomes a space`(
        text: String, value: String
    ) {
        let headers = received(Array(text.utf8))
        #expect(headers["Location"] == value)
        #expect(headers.reference(for: "Location") == value)
        #expect(headers["X"] == "y" && headers.count == 2)
    }

    @Test func `fields keep the order of insertion until they are sorted`() {
        var headers: HTTPHeaders = ["c": "1", "A": "2", "b": "3"]
        #expect(headers.map(\.name) == ["c", "A", "b"])
        #expect(headers.sorted().map(\.name) == ["A", "b", "c"])
        headers["C"] = "4"
        headers["a"] = "5"
        #expect(headers.map(\.name) == ["C", "a", "b"] && headers.map(\.value) == ["4", "5", "3"])
        headers.sort()
        #expect(headers.description == "a: 5\nb: 3\nC: 4")
    }

    @Test func `fields are found and removed regardless of the name's case`() {
        var headers: HTTPHeaders = ["Accept": "a"]
        #expect(headers["ACCEPT"] == "a" && headers.value(for: "accept") == "a")
        headers["accept"] = nil
        #expect(headers.isEmpty && headers["Accept"] == nil)
        headers.add(name: "X", value: "1")
        headers.remove(name: "x")
        #expect(headers.dictionary.isEmpty)
    }

    @Test func `repeated fields are joined except for Set-Cookie`() {
        var headers = HTTPHeaders()
        headers.append(name: "Link", value: "a")
        headers.append(name: "link", value: "b")
        headers.append(name: "Set-Cookie", value: "c=1")
        headers.append(name: "Set-Cookie", value: "d=2")
        #expect(headers.count == 4 && headers.values(for: "LINK") == ["a", "b"])
        #expect(headers["Link"] == "a, b" && headers["Set-Cookie"] == "c=1")
        #expect(headers.dictionary == ["Link": "a, b", "Set-Cookie": "c=1"])
        headers.update(name: "LINK", value: "e")
        #expect(headers.map(\.name) == ["LINK", "Set-Cookie", "Set-Cookie"])
    }

    @Test func `missing fields are taken from the defaults, and others do not change`() {
        var headers: HTTPHeaders = ["accept": "own"]
        headers.addMissing(from: ["Accept": "theirs", "B": "1"])
        #expect(headers.description == "accept: own\nB: 1")
    }

    @Test func `the static functions create fields with the right names and values`() {
        #expect(
            HTTPHeader.authorization(username: "user", password: "pass").value
                == "Basic dXNlcjpwYXNz")
        #expect(HTTPHeader.authorization(bearerToken: "t").description == "Authorization: Bearer t")
        let named: [(HTTPHeader, String)] = [
            (.accept("v"), "Accept"), (.acceptCharset("v"), "Accept-Charset"),
            (.acceptLanguage("v"), "Accept-Language"), (.acceptEncoding("v"), "Accept-Encoding"),
            (.contentDisposition("v"), "Content-Disposition"),
            (.contentEncoding("v"), "Content-Encoding"), (.contentType("v"), "Content-Type"),
            (.userAgent("v"), "User-Agent"), (.websocketProtocol("v"), "Sec-WebSocket-Protocol"),
        ]
        for (header, name) in named { #expect(header.name == name && header.value == "v") }
    }

    @Test(arguments: [
        ("a b", "v"), ("", "v"), ("a:", "v"), ("ä", "v"), ("a", "v\r\nb: c"), ("a", "v\nb"),
        ("a", "v\0"), ("a", "\u{1}"), ("a", "v\u{1B}"), ("a", "12345678\u{7F}"),
        ("a", "1234567\u{7F}8"), ("a", "1234567\u{1F}8"), ("a", "12345678é1234567\u{8}"),
    ])
    func `a field with an invalid name or a control character is refused`(
        name: String, value: String
    ) {
        #expect(throws: HTTPRequestError.self) {
            try HTTPHeaders([HTTPHeader(name: name, value: value)]).checkSyntax()
        }
    }

    @Test(arguments: ["", "a\tb", "é \u{9B} 😀 \u{7E}", "1234567\t89"])
    func `a tab and bytes above ASCII are accepted in values`(value: String) throws {
        try HTTPHeaders([HTTPHeader(name: "a", value: value)]).checkSyntax()
    }

    @Test func `each control character is found at each place of a value, whatever is beside it`() {
        for length in 1...20 {
            for place in 0..<length {
                for byte in UInt8.min...UInt8.max {
                    for other: UInt8 in [0x20, 0x7E, 0x80, 0xFF] {
                        var value = [UInt8](repeating: other, count: length)
                        value[place] = byte
                        let isValue = byte == 0x09 || byte >= 0x20 && byte != 0x7F
                        guard value.withUnsafeBufferPointer({ isFieldValue($0) }) != isValue
                        else { continue }
                        Issue.record("\(byte) at \(place) of \(length), beside \(other)")
                    }
                }
            }
        }
    }

    @Test func `a received block keeps case, order and repeated fields`() {
        let text = "HTTP/1.1 200 OK\r\nB: 1\r\na:  2 \r\nb: 3\r\nFolded: x\r\n y\r\n\r\n"
        let headers = HTTPHeaders(HeaderBlock(bytes: Array(text.utf8)))
        #expect(headers.map(\.name) == ["B", "a", "b", "Folded"])
        #expect(headers.values(for: "b") == ["1", "3"] && headers["A"] == "2")
        #expect(headers["folded"] == "x y")
    }

    @Test(arguments: [
        ("Age", "5"), ("age", ""), ("X-\u{7E}", "a\tb é"), ("b", "7"), ("FOLDED", "z"),
        ("a", " 1 "),
        ("A", "1\r\nInjected: 1"), ("no name", "1"), ("", "1"),
    ])
    func `update has the same effect on received fields as on others`(
        name: String, value: String
    ) {
        let text = "HTTP/1.1 200 OK\r\nB: 1\r\na:  2 \r\nb: 3\r\nFolded: x\r\n y\r\n"
        for end in ["\r\n", "", "Last: 1"] {
            let block = HeaderBlock(bytes: Array((text + end).utf8))
            var received = HTTPHeaders(block)
            var own = HTTPHeaders()
            for header in received { own.append(header) }
            let copy = received
            received.update(name: name, value: value)
            own.update(name: name, value: value)
            #expect(received.map(\.description) == own.map(\.description))
            #expect(
                received[name] == own[name] && received.values(for: "b") == own.values(for: "b"))
            #expect(received.containsAny(of: ["Age"]) == own.containsAny(of: ["Age"]))
            #expect(!copy.containsAny(of: ["Age"]))
            received.update(name: name, value: "other")
            #expect(received.values(for: name) == ["other"])
        }
    }

    @Test func `update does not change the bytes of other received fields`() {
        let bytes = Array("HTTP/1.1 200 OK\r\nLocation: /".utf8) + [0xE9] + Array("\r\n\r\n".utf8)
        var headers = HTTPHeaders(HeaderBlock(bytes: bytes))
        headers.update(name: "Age", value: "5")
        #expect(headers.reference(for: "Location") == "/%E9")
        #expect(headers.containsAny(of: ["Age"]) && headers["Location"] == "/é")
    }

    @Test func `a leak checker finds the storage of fields through a plain pointer`() {
        let block = HeaderBlock(bytes: Array("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n".utf8))
        #expect(words(HTTPHeaders(block)).contains(words(block)[0]))
    }

    /// The memory of a value as 8-byte words, without an incomplete last word.
    private func words<Value>(_ value: Value) -> [UInt] {
        withUnsafeBytes(of: value) { bytes in
            (0..<bytes.count / 8).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt.self) }
        }
    }
}

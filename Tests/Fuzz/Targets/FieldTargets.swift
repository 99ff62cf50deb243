import CCurl
import FoundationEssentials
import Glibc

@testable import OutletHTTP
@testable import OutletObservation
@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

/// Parsers of header sections and of field values.
let fieldTargets: [FuzzTarget] = [
    FuzzTarget("head-block") { data in
        let block = HTTPHeaders(HeaderBlock(bytes: Array(data)))
        try checkFields(block)
        // Also in pieces of whole lines, which is how libcurl's header callback receives them.
        var head = ccurl_head()
        head.completed = { _, _ in true }
        head.began_http2 = { _ in true }
        head.limit = 1 << 20
        head.line_limit = 1000
        defer { free(head.bytes) }
        var rest = data
        while !rest.isEmpty {
            let end = rest.dropFirst(97).firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            var piece = rest[..<end].map { CChar(bitPattern: $0) }
            rest = rest[end...]
            guard ccurl_collect_header(&piece, 1, piece.count, &head) == piece.count else { return }
        }
        let bytes = UnsafeRawBufferPointer(start: head.bytes, count: head.count)
        let collected = HTTPHeaders(HeaderBlock(copying: bytes, marks: head.marks))
        try checkFields(collected)
        for (name, names) in [
            ("Set-Cookie", ["Set-Cookie"]), ("Location", ["Location"]),
            ("Content-Length", ["Content-Length"]),
        ] as [(String, FieldNames)] {
            try expect(
                collected.containsAny(of: names) == !collected.values(for: name).isEmpty,
                "\(name): the marks and the table tell different things")
        }
    },
    FuzzTarget("challenges") { data in
        for (scheme, parameters) in AuthenticationChallenge.parse(data.text) {
            try expect(scheme.lowercasedASCII.hasSameBytes(as: scheme), "scheme \(scheme)")
            for name in parameters.keys {
                try expect(
                    !name.utf8.contains { $0.isBlank || $0 == UInt8(ascii: "=") }, "name \(name)")
            }
        }
        let response = HTTPResponse(
            url: URL(string: "http://x.test/"), statusCode: 401,
            headers: ["WWW-Authenticate": data.text])
        _ = AuthenticationRound(
            answering: response, with: Credential(user: "u", password: "p"), after: nil)
    },
    FuzzTarget("content-disposition") { data in
        for url in ["http://x.test/", "http://x.test/a/\(percentEncoded(data.prefix(64)))"] {
            let name = HTTPResponse(
                url: URL(string: url), statusCode: 200,
                headers: ["Content-Disposition": data.text]
            ).suggestedFilename
            try checkFilename(name)
        }
        if let name = safeFilename(data.text) { try checkFilename(name) }
    },
    FuzzTarget("cache-control") { data in
        let text = data.text
        var headers = HTTPHeaders()
        for name in ["Cache-Control", "Expires", "Age", "Date", "Vary", "ETag", "Last-Modified"] {
            headers.append(name: name, value: text)
        }
        let directives = CacheControl(headers)
        for number in [directives.maxAge, directives.minFresh, directives.staleIfError] {
            try expect((0...1 << 31).contains(number ?? 0), "a time of \(number ?? 0) s")
        }
        let request = CacheRequest(
            HTTPRequest(url: URL(string: "http://x.test/"), headers: ["Range": text, "X": text]))
        let response = HTTPResponse(url: nil, statusCode: 200, headers: headers)
        guard let selectors = request.selectors(for: response, isPublic: false) else { return }
        let entry = CacheEntry(
            response: response, data: data, requestTime: .now, responseTime: .now,
            selectors: selectors, userInfo: nil, storagePolicy: .allowed)
        try expect(entry.matches(request), "a response does not answer its own request")
        _ = CacheRules(usesHeuristics: true).decide(request, entry, now: .now)
    },
    FuzzTarget("fields") { data in
        let text = data.text
        if let range = ContentRange(text), let start = range.start {
            try expect(start >= 0 && start < range.total ?? .max, "range \(range)")
        }
        if let range = ByteRange([text])?.bounds(in: 100) {
            try expect((0...100).contains(range.lowerBound) && range.upperBound <= 100, "\(range)")
        }
        let response = HTTPResponse(
            url: nil, statusCode: 503,
            headers: ["Retry-After": text, "Content-Type": text, "Content-Length": text])
        try expect(RetryAfter.delay(in: response, now: .now) ?? 0 >= 0, "a wait below 0")
        try expect(response.expectedContentLength >= -1, "a length below -1")
        _ = response.textEncoding
        if let type = MediaType(text) { try expect(type.matches(type), "\(type)") }
        if let type = response.mimeType {
            try expect(!type.utf8.contains(UInt8(ascii: ";")), "\(type)")
        }
        if let date = HTTPDate.parse(text) {
            try expect(
                (-62_200_000_000.0...253_402_400_000.0).contains(date.timeIntervalSince1970),
                "\(date)")
        }
        _ = CookieDate.parse(text)
    },
    FuzzTarget("curl-command") { data in
        let text = data.text
        let quoted = ShellWord.quoted(text, always: true)
        try expect(
            !quoted.utf8.contains { $0.isControl && $0 != 0x0A }, "a control character")
        try expect(isOneWord(quoted.utf8[...]), "not one word of a shell: \(quoted)")
    },
]

/// Returns whether a shell reads the text as one word and expands or runs nothing else of it.
///
/// Accepts single-quoted bytes, escaped single quotes, and `printf` of octal numbers only.
private func isOneWord(_ text: Substring.UTF8View) -> Bool {
    var rest = text
    while let byte = rest.first {
        if byte == UInt8(ascii: "'") {
            guard let end = rest.dropFirst().firstIndex(of: byte) else { return false }
            rest = rest[rest.index(after: end)...]
        } else if rest.starts(with: "\\'".utf8) {
            rest = rest.dropFirst(2)
        } else if rest.starts(with: "\"$(printf '".utf8) {
            rest = rest.dropFirst(11).drop { $0 == UInt8(ascii: "\\") || $0.isDigit }
            guard rest.starts(with: "')\"".utf8) else { return false }
            rest = rest.dropFirst(3)
        } else {
            return false
        }
    }
    return true
}

private func checkFields(_ headers: HTTPHeaders) throws {
    for header in headers {
        try expect(!header.name.utf8.contains(UInt8(ascii: ":")), "name \(header.name)")
        try expect(
            !header.value.utf8.contains(0x0A)
                && header.value.trimmingBlanks.utf8.count
                    == header.value.utf8.count,
            "value \(header.value.debugDescription)")
    }
    // A name with invalid UTF-8 is stored as bytes, so a lookup of its replaced text finds nothing.
    for header in headers where !header.name.unicodeScalars.contains("\u{FFFD}") {
        try expect(
            headers.values(for: header.name).contains { $0.hasSameBytes(as: header.value) },
            "\(header.name) is there and not found")
    }
}

private func checkFilename(_ name: String) throws {
    let bytes = name.utf8
    try expect((1...255).contains(bytes.count), "\(bytes.count) bytes")
    try expect(bytes.first != UInt8(ascii: "."), "hidden: \(name)")
    try expect(
        !bytes.contains { $0.isControl || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") },
        "not one component: \(name.debugDescription)")
}

private func percentEncoded(_ data: Data) -> String {
    data.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

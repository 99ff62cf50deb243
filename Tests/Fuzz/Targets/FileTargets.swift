import FoundationEssentials

@testable import OutletHTTP
@testable import OutletReachability
@testable import OutletObservation
@testable import OutletLayers
@testable import OutletSession
import OutletTransport

/// Parsers of files and data that another process may have written or changed.
let fileTargets: [FuzzTarget] = [
    FuzzTarget("cache-file") { data in
        // The bytes as a cache file; the checksum rejects most of them.
        _ = CacheFile.decode(data, key: "http://x.test/")
        // The bytes as the values of an entry, which must be the same after encoding and decoding.
        let values = data.split(separator: 0x0A).map { $0.prefix(200).text }
        var headers = HTTPHeaders()
        for (name, value) in zip(values, values.dropFirst()) {
            headers.append(name: name, value: value)
        }
        let entry = CacheEntry(
            response: HTTPResponse(url: nil, statusCode: 200, headers: headers), data: data,
            requestTime: Date(timeIntervalSince1970: 1),
            responseTime: Date(timeIntervalSince1970: 2),
            selectors: values.map { .init(name: $0, value: $0) }, userInfo: nil,
            storagePolicy: .allowed)
        guard let file = CacheFile.encode(entry, key: "k") else { return }
        let decoded = CacheFile.decode(file, key: "k")
        try expect(decoded?.response.headers == entry.response.headers, "other fields")
        try expect(decoded?.data == data, "another body")
        try expect(CacheFile.decode(file, key: "other") == nil, "it answers for another address")
        guard let last = file.indices.last else { return }
        var torn = file
        torn[last] ^= 0x20
        try expect(
            data.isEmpty || CacheFile.decode(torn, key: "k") == nil, "a torn file is read")
    },
    FuzzTarget("resume-data") { data in
        guard let resume = try? ResumeData(data), let encoded = resume.encoded else { return }
        try expect(try ResumeData(encoded) == resume, "it reads otherwise than it is written")
        _ = try? resume.request.checkSyntax()
        let name = URL(filePath: resume.file).lastPathComponent
        try expect(
            !PartFile.isName(name) || name.utf8.count == "Outlet_.part".utf8.count + 36,
            "a part named \(name)")
    },
    FuzzTarget("har") { data in
        guard let har = try? JSONDecoder().decode(HAR.self, from: data) else {
            _ = HAR.bodyKey(of: data, ["Content-Type": data.prefix(100).text], .standard)
            _ = HAR.query(of: data.text)
            _ = HAR.cookies([data.text])
            return
        }
        let encoded = try JSONEncoder().encode(har)
        try expect(
            try JSONDecoder().decode(HAR.self, from: encoded) == har,
            "it reads otherwise than it is written")
    },
    FuzzTarget("netlink") { data in
        var table = RouteTable()
        _ = try? table.take(Array(data), sequence: 0, port: 0)
        // A link is a 16-byte message header and 16 bytes of data; a next hop is 8 bytes.
        try expect(table.links.count <= data.count / 32, "more links than messages")
        try expect(table.routes.count <= data.count / 8, "more routes than hops")
        _ = table.path { _ in .other }
    },
    FuzzTarget("redaction") { data in
        let redaction = Redaction.standard
        let text = data.text
        _ = redaction.address(text)
        if let url = URL(string: text) { _ = redaction.url(url) }
        for name in ["Authorization", "Cookie", "Set-Cookie", "Location", text] {
            _ = redaction.value(of: HTTPHeader(name: name, value: text))
        }
        for type in ["application/json", "application/x-www-form-urlencoded", "text/plain", text] {
            _ = redaction.body(data, contentType: type)
        }
        let secret =
            "http://user:hunter2@x.test/?a=\(text.utf8.filter(\.isAlpha).count)&token=hunter2"
        try expect(!redaction.address(secret).containsBytes(of: "hunter2"), "a secret is shown")
    },
]

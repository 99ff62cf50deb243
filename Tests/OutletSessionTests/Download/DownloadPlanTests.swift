import OutletHTTP
import Testing

@testable import OutletSession
@testable import OutletTransport

@Suite struct DownloadPlanTests {
    private func plan(
        _ status: Int, range: String? = nil, tag: String? = nil, offset: Int64 = 8,
        _ fields: HTTPHeaders = [:], validator: String = "\"v\"", total: Int64? = nil
    ) -> DownloadPlan {
        var headers = fields
        if let range { headers.add(name: "Content-Range", value: range) }
        if let tag { headers.add(name: "ETag", value: tag) }
        return DownloadPlan(
            HTTPResponse(url: nil, statusCode: status, headers: headers), offset: offset,
            validator: validator, total: total)
    }

    @Test func `the response head decides how the body of a download is used`() {
        #expect(plan(200) == .whole)
        #expect(plan(206, range: "bytes 8-9/10") == .continued)
        #expect(plan(206, range: "bytes 8-9/10", tag: "\"v\"") == .continued)
        #expect(plan(206, range: "bytes 8-9/10", tag: "\"w\"") == .restart)
        #expect(plan(206, range: "bytes 7-9/10") == .restart)
        #expect(plan(206) == .restart)
        #expect(plan(416, range: "bytes */8") == .complete)
        #expect(plan(416, range: "bytes */7") == .restart)
        #expect(plan(416) == .restart)
        #expect(plan(503) == .aside)
        #expect(plan(404, offset: 0) == .whole)
        #expect(plan(206, range: "bytes 0-9/10", offset: 0) == .whole)
    }

    @Test func `a partial response continues a download only if all its fields agree`() {
        func part(
            _ range: String = "bytes 8-19/20", _ fields: HTTPHeaders = [:], total: Int64? = 20
        ) -> DownloadPlan { plan(206, range: range, fields, total: total) }
        #expect(part() == .continued)
        #expect(part("bytes 8-11/20") == .continued)
        #expect(part("bytes 8-19/*") == .continued)
        #expect(part("bytes 8-29/30", total: nil) == .continued)
        #expect(part("bytes 8-29/30") == .restart)
        #expect(part("bytes 8-29/*") == .restart)
        #expect(part("bytes 8-19/20", ["Content-Length": "12"]) == .continued)
        #expect(part("bytes 8-19/20", ["Content-Length": "11"]) == .restart)
        #expect(part("bytes 8-19/20", ["Content-Encoding": "identity"]) == .continued)
        #expect(part("bytes 8-19/20", ["Content-Encoding": "gzip"]) == .restart)
        let many = HTTPHeaders(["Content-Type": "Multipart/byteranges; boundary=x"])
        #expect(part("bytes 8-19/20", many) == .restart)
        #expect(plan(416, range: "bytes */8", total: 8) == .complete)
        #expect(plan(416, range: "bytes */8", total: 20) == .restart)
        #expect(plan(416, range: "bytes */8", tag: "\"w\"") == .restart)
    }

    @Test
    func `a date validator is compared like a tag, and a tag that is not ASCII never matches`() {
        let date = "Mon, 01 Jan 2024 00:00:00 GMT"
        func part(_ fields: HTTPHeaders, _ validator: String) -> DownloadPlan {
            plan(206, range: "bytes 8-9/10", fields, validator: validator)
        }
        #expect(part(["Last-Modified": date], date) == .continued)
        #expect(part(["ETag": "W/\"1\""], date) == .continued)
        #expect(part(["Last-Modified": "Tue, 02 Jan 2024 00:00:00 GMT"], date) == .restart)
        #expect(part(["Last-Modified": date], "\"v\"") == .continued)
        #expect(part(["ETag": "v", "Last-Modified": date], "v") == .continued)
        for text in ["\"\u{FFFD}\"", "\"é\""] {
            #expect(part(["ETag": text], text) == .restart)
        }
    }

    @Test(arguments: ["bytes 5-9", "bytes 9-5/10", "bytes a-9/10", "items 0-1/2", "", "bytes /"])
    func `an invalid Content-Range is ignored`(field: String) {
        #expect(ContentRange(field) == nil)
    }
}

import OutletHTTP
import Testing

@testable import OutletSession

@Suite struct DownloadPlanTests {
    private func plan(
        _ status: Int, range: String? = nil, tag: String? = nil, offset: Int64 = 8
    ) -> DownloadPlan {
        var headers = HTTPHeaders()
        if let range { headers.add(name: "Content-Range", value: range) }
        if let tag { headers.add(name: "ETag", value: tag) }
        return DownloadPlan(
            HTTPResponse(url: nil, statusCode: status, headers: headers), offset: offset,
            validator: "\"v\"")
    }

    @Test func `a head decides what becomes of the body`() {
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

    @Test(arguments: ["bytes 5-9", "bytes 9-5/10", "bytes a-9/10", "items 0-1/2", "", "bytes /"])
    func `a broken range is none`(field: String) {
        #expect(ContentRange(field) == nil)
    }
}

import CCurl
import OutletHTTP
import Testing

@testable import OutletCurl

@Suite struct `The header lines of a response` {
    @Test func `several header lines in one callback form a head`() {
        var head = HeadCollector()
        head.limit(bytes: 1000, fields: 10)
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 1) { completions in
            completions[0] = 0
            head.lines.pointee.client = UnsafeMutableRawPointer(completions.baseAddress)
            head.lines.pointee.completed = { client, isWhole in
                client?.assumingMemoryBound(to: Int.self).pointee += isWhole ? 1 : 100
                return true
            }
            var text = Array("HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n".utf8CString)
            let count = text.count - 1
            #expect(ccurl_collect_header(&text, 1, count, head.lines) == count)
            #expect(completions[0] == 1)
        }
        let response = head.takeHead(url: nil)
        #expect(response?.statusCode == 200)
        #expect(response?.headers["C"] == "d")
    }
}

import FoundationEssentials
import OutletHTTP
import OutletTransport
import Testing

/// The heads that transports have sent.
@Suite struct SentHeadTests {
    private let recorder = SentHeadRecorder()
    private let url = URL(string: "http://h/")

    private func send(_ text: String, _ transfer: UInt64 = 1, _ number: Int = 1) {
        Array(text.utf8).withUnsafeBytes {
            recorder.append($0, by: (transfer, number), to: url)
        }
    }

    private var lines: [String]? {
        recorder.head(sentTo: url).map { head in
            ["\(head.method) \(head.target) \(head.httpVersion)"]
                + head.headers.map { "\($0.name): \($0.value)" }
        }
    }

    @Test func `a head that is sent in pieces is known when its end is sent`() {
        send("GET /a:b?c HTTP/1.1\r\nHo")
        #expect(lines == nil)
        send("st: h\r\n\r\n")
        #expect(lines == ["GET /a:b?c HTTP/1.1", "Host: h"])
        #expect(recorder.head(sentTo: URL(string: "http://other/")) == nil)
    }

    @Test func `the last head counts, but not that of a tunnel`() {
        send("GET /1 HTTP/1.1\r\n\r\n")
        send("GET /2 HTTP/2\r\nA: 1\r\nA: 2\r\n\r\n", 2)
        send("CONNECT h:443 HTTP/1.1\r\n\r\n", 3)
        #expect(lines == ["GET /2 HTTP/2", "A: 1", "A: 2"])
    }

    @Test func `a head that was not sent completely is not mixed with that of the next attempt`() {
        for (transfer, number) in [(1, 2), (2, 1)] as [(UInt64, Int)] {
            send("GET /1 HTTP/1.1\r\nLost: 1")
            send("GET /2 HTTP/1.1\r\nA: 1\r\n\r\n", transfer, number)
            #expect(lines == ["GET /2 HTTP/1.1", "A: 1"])
        }
    }
}

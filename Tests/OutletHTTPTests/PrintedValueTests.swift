import FoundationEssentials
import OutletHTTP
import Testing

/// The descriptions of requests, responses and fields.
@Suite struct PrintedValueTests {
    private let url = URL(string: "https://u:p@h.test/a?token=x&q=1")

    @Test func `a response is described with its URL, and for debugging with its fields`() {
        let head = HTTPResponse(
            url: url, statusCode: 404, httpVersion: "HTTP/2",
            headers: ["Server": "x", "Set-Cookie": "a=b; Path=/"])
        let line = "HTTP/2 404 from https://•••@h.test/a?token=•••&q=1"
        #expect("\(head)" == line)
        #expect(
            String(reflecting: head) == "\(line)\nServer: x\nSet-Cookie: a=•••; Path=/")
        #expect("\(HTTPResponse(url: nil, statusCode: 204))" == "HTTP/1.1 204")
        #expect(String(reflecting: HTTPResponse(url: nil, statusCode: 204)) == "HTTP/1.1 204")
    }

    @Test func `a request is described with its URL, and for debugging with fields and body`() {
        var request = HTTPRequest(
            url: url, method: .post, headers: ["Authorization": "Bearer x", "A": "b"],
            body: .data(Data("password=x".utf8)))
        let line = "POST https://•••@h.test/a?token=•••&q=1"
        #expect("\(request)" == line)
        #expect(
            String(reflecting: request)
                == "\(line)\nAuthorization: Bearer •••\nA: b\n(10 bytes of body)")
        request.body = .file(path: "/a/b")
        #expect(String(reflecting: request).hasSuffix("\n(a body from /a/b)"))
        #expect(String(reflecting: HTTPRequest(url: nil)) == "GET without an address")
    }

    @Test func `fields are described one per line without secrets`() {
        let headers: HTTPHeaders = ["Cookie": "a=b", "Location": "/x?code=1", "C": "d"]
        #expect("\(headers)" == "Cookie: a=•••\nLocation: /x?code=•••\nC: d")
        // A single field is described as it is sent.
        #expect("\(HTTPHeader(name: "Cookie", value: "a=b"))" == "Cookie: a=b")
    }

    @Test func `dumps of requests, responses and fields contain no secrets`() {
        let headers: HTTPHeaders = [
            "Authorization": "Bearer s3cret", "Set-Cookie": "a=s3cret", "A": "b",
        ]
        let address = URL(string: "https://u:s3cret@h.test/a?token=s3cret&q=1")
        let request = HTTPRequest(
            url: address, method: .post, headers: headers, body: .data(Data("password=s3cret".utf8))
        )
        let response = HTTPResponse(url: address, statusCode: 200, headers: headers)
        for value in [request, response, headers] as [Any] {
            var text = ""
            // As in another type, whose properties are dumped in turn.
            dump([value], to: &text)
            #expect(!text.contains("s3cret") && text.contains("A: b"), "\(text)")
        }
    }
}

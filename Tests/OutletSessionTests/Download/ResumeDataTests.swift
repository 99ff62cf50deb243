import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletSession

/// Tests from which responses resume data is made.
@Suite struct ResumeDataTests {
    private func data(
        _ fields: HTTPHeaders, status: Int = 200, method: HTTPMethod = .get,
        headers: HTTPHeaders = [:]
    ) -> ResumeData? {
        let url = URL(string: "http://a.test/")
        return ResumeData(
            request: HTTPRequest(url: url, method: method, headers: headers),
            response: HTTPResponse(url: url, statusCode: status, headers: fields),
            bytesReceived: 5, totalBytes: 9, file: "/tmp/part")
    }

    private let tag: HTTPHeaders = ["ETag": "\"1\""]
    private let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private let later = "Sun, 06 Nov 1994 08:49:38 GMT"

    @Test func `a strong entity tag or a date is a validator`() {
        #expect(data(tag)?.validator == "\"1\"")
        #expect(data(["Last-Modified": date, "Date": later])?.validator == date)
        #expect(
            data(HTTPHeaders(["Content-Encoding": "identity"]).merging(tag))?.validator == "\"1\"")
    }

    @Test func `a weak tag, or a date that is not before that of the response, is no validator`() {
        #expect(data([:]) == nil)
        #expect(data(["ETag": "W/\"1\""]) == nil)
        for tag in ["", "abc", "\"", "w/\"a\"", "\"a\", \"b\""] {
            #expect(data(["ETag": tag, "Last-Modified": date, "Date": later]) == nil)
        }
        var two = self.tag
        two.append(name: "ETag", value: "\"2\"")
        #expect(data(two) == nil)
        #expect(data(["ETag": "W/\"1\"", "Last-Modified": date, "Date": later]) == nil)
        #expect(data(["Last-Modified": date]) == nil)
        #expect(data(["Last-Modified": date, "Date": date]) == nil)
        #expect(data(["Last-Modified": later, "Date": date]) == nil)
        #expect(data(["Last-Modified": "yesterday", "Date": date]) == nil)
    }

    @Test func `only an unencoded GET of the whole content can be resumed`() {
        #expect(data(tag, status: 206) != nil)
        #expect(data(tag, status: 203) == nil)
        #expect(data(tag, method: .post) == nil)
        #expect(data(tag, headers: ["Range": "bytes=1-"]) == nil)
        #expect(data(HTTPHeaders(["Content-Encoding": "gzip"]).merging(tag)) == nil)
        #expect(data(HTTPHeaders(["Accept-Ranges": "none"]).merging(tag)) == nil)
    }

    @Test func `the fields that are sent again keep their bytes`() throws {
        let fields: HTTPHeaders = [HTTPHeader(name: "X", valueBytes: [0xE9]), .accept("é")]
        let encoded = try #require(data(tag, headers: fields)?.encoded)
        #expect(try ResumeData(encoded).request.headers == fields)
    }

    @Test func `resume data of another version is refused`() throws {
        let encoded = try #require(data(tag)?.encoded)
        #expect(try ResumeData(encoded) == data(tag))
        let text = String(decoding: encoded, as: UTF8.self)
        #expect(text.containsBytes(of: "\"version\":1"))
        let other = Data(text.replacing("\"version\":1", with: "\"version\":2").utf8)
        #expect(throws: ResumeDataError.self) { try ResumeData(other) }
    }
}

extension HTTPHeaders {
    fileprivate func merging(_ other: HTTPHeaders) -> HTTPHeaders {
        var headers = self
        for field in other { headers.append(name: field.name, value: field.value) }
        return headers
    }
}

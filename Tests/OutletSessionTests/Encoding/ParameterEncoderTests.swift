import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport
import Testing

@Suite struct ParameterEncoderTests {
    struct Value: Codable, Equatable, Sendable {
        var name = "é/"
        var count = 2
    }

    let get = HTTPRequest(url: URL(string: "http://example.test/?x=1"))
    let post = HTTPRequest(url: URL(string: "http://example.test/"), method: .post)

    @Test func `a value that cannot be encoded as JSON is a jsonEncodingFailed error`() {
        let error = #expect(throws: SessionError.self) {
            try JSONParameterEncoder.default.encode(["a": Double.nan], into: post)
        }
        guard case .parameterEncodingFailed(reason: .jsonEncodingFailed)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a value that cannot be encoded as a form is an encoderFailed error`() {
        let error = #expect(throws: SessionError.self) {
            try URLEncodedFormParameterEncoder.default.encode([1, 2], into: post)
        }
        guard case .parameterEncoderFailed(reason: .encoderFailed(let cause))? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause is URLEncodedFormEncoder.Error)
    }

    @Test func `a form needs a URL and a method`() {
        func reason(_ request: HTTPRequest) -> SessionError.ParameterEncoderFailureReason? {
            let error = #expect(throws: SessionError.self) {
                try URLEncodedFormParameterEncoder.default.encode(Value(), into: request)
            }
            guard case .parameterEncoderFailed(let reason)? = error else { return nil }
            return reason
        }
        guard case .missingRequiredComponent(.url)? = reason(HTTPRequest(url: nil)) else {
            Issue.record("no URL went unnoticed")
            return
        }
        var request = post
        request.method = HTTPMethod(rawValue: "")
        guard case .missingRequiredComponent(.httpMethod(rawValue: ""))? = reason(request) else {
            Issue.record("no method went unnoticed")
            return
        }
    }

    @Test func `nil changes nothing`() throws {
        #expect(try JSONParameterEncoder.default.encode(nil as Value?, into: post) == post)
        let form = URLEncodedFormParameterEncoder.default
        #expect(try form.encode(nil as Value?, into: get) == get)
    }

    @Test func `JSON is sent in the body, and an existing Content-Type is kept`() throws {
        let encoded = try JSONParameterEncoder.default.encode(Value(), into: post)
        #expect(encoded.headers["Content-Type"] == "application/json")
        #expect(try JSONDecoder().decode(Value.self, from: encoded.httpBody ?? Data()) == Value())
        var request = post
        request.headers["Content-Type"] = "text/x-mine"
        let kept = try JSONParameterEncoder.default.encode(Value(), into: request)
        #expect(kept.headers["Content-Type"] == "text/x-mine")
    }

    @Test func `JSON can be sorted, formatted, and encoded with a given encoder`() throws {
        func text(_ encoder: any ParameterEncoder) throws -> String {
            let body = try encoder.encode(Value(), into: post).httpBody ?? Data()
            return String(decoding: body, as: UTF8.self)
        }
        #expect(try text(JSONParameterEncoder.sortedKeys) == #"{"count":2,"name":"é\/"}"#)
        #expect(try text(JSONParameterEncoder.prettyPrinted).contains("\n  \"count\" : 2"))
        let own = JSONEncoder()
        own.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        #expect(try text(.json(encoder: own)) == #"{"count":2,"name":"é/"}"#)
        #expect(try text(.json).contains(#""count":2"#))
    }

    @Test func `the method or the destination decides where a form is sent`() throws {
        let query = try URLEncodedFormParameterEncoder.default.encode(Value(), into: get)
        #expect(query.url?.absoluteString == "http://example.test/?x=1&count=2&name=%C3%A9/")
        #expect(query.body.isNone)
        let body = try URLEncodedFormParameterEncoder.default.encode(Value(), into: post)
        #expect(body.httpBody == Data("count=2&name=%C3%A9/".utf8))
        #expect(body.headers["Content-Type"] == "application/x-www-form-urlencoded; charset=utf-8")
        let forced = URLEncodedFormParameterEncoder(destination: .httpBody)
        #expect(try forced.encode(Value(), into: get).httpBody == Data("count=2&name=%C3%A9/".utf8))
    }

    @Test func `a form without pairs does not change the URL`() throws {
        let form = URLEncodedFormParameterEncoder.default
        #expect(try form.encode([String: Int](), into: get).url == get.url)
    }
}

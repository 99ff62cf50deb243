import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct MultipartFormDataTests {
    let scratch: TemporaryDirectory

    init() throws { scratch = try TemporaryDirectory() }

    // MARK: Forms that cannot be encoded

    private func reason(
        _ form: MultipartFormData
    ) -> SessionError.MultipartEncodingFailureReason? {
        let error = #expect(throws: SessionError.self) { try form.encode() }
        guard case .multipartEncodingFailed(let reason)? = error else { return nil }
        return reason
    }

    @Test func `the first error is kept, and thrown by every way of encoding`() throws {
        let form = MultipartFormData()
        form.append(URL(filePath: "/nowhere/first.txt"), withName: "a")
        form.append(URL(filePath: "/nowhere/second.txt"), withName: "b")
        form.append(Data("x".utf8), withName: "c")
        guard case .bodyPartFileNotReachable(let url)? = reason(form) else {
            Issue.record("\(String(describing: reason(form)))")
            return
        }
        #expect(url.lastPathComponent == "first.txt")
        #expect(form.contentLength == 0)
        let target = scratch.path("form")
        #expect(throws: SessionError.self) { try form.writeEncodedData(to: URL(filePath: target)) }
        #expect(!FileManager.default.fileExists(atPath: target))
        #expect(throws: SessionError.self) { try form.bodyStream() }
        #expect(throws: SessionError.self) { try form.uploadable() }
    }

    @Test func `a directory, a device and a URL that is not a file have different errors`() throws {
        func reason(_ url: URL) -> String {
            let form = MultipartFormData()
            form.append(url, withName: "a", fileName: "f", mimeType: "text/plain")
            return self.reason(form).map { "\($0)" } ?? ""
        }
        #expect(reason(URL(filePath: scratch.path)) == "\(scratch.path): is a directory")
        #expect(reason(URL(filePath: "/dev/null")) == "/dev/null: its size is not known")
        let web = try #require(URL(string: "http://example.test/f.txt"))
        #expect(reason(web) == "http://example.test/f.txt: not a file URL")
    }

    @Test func `a symbolic link to a file is as that file`() throws {
        let form = MultipartFormData(boundary: "b")
        let file = URL(filePath: try scratch.write("content", to: "file.txt"))
        let link = file.deletingLastPathComponent().appending(path: "link.txt")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        form.append(link, withName: "a")
        #expect(form.contentLength == 7)
        let text = String(decoding: try form.encode(), as: UTF8.self)
        #expect(text.contains("filename=\"link.txt\"\r\n"))
        #expect(text.contains("\r\n\r\ncontent\r\n--b--"))
    }

    @Test func `a file without an explicit name needs a file name with an extension`() throws {
        let form = MultipartFormData()
        form.append(URL(filePath: try scratch.write("x", to: "plain")), withName: "a")
        guard case .bodyPartFilenameInvalid? = reason(form) else {
            Issue.record("\(String(describing: reason(form)))")
            return
        }
    }

    @Test(arguments: ["", "a b", "a\r\nb", "é", "x\"y", String(repeating: "x", count: 71)])
    func `an invalid boundary is refused`(boundary: String) {
        guard case .boundaryInvalid(boundary)? = reason(MultipartFormData(boundary: boundary))
        else {
            Issue.record("taken")
            return
        }
    }

    @Test(arguments: ["text/plain\r\nX-Evil: 1", "a\u{0}b"])
    func `a content type with control characters is refused`(type: String) {
        let form = MultipartFormData()
        form.append(Data(), withName: "a", mimeType: type)
        guard case .bodyPartHeaderInvalid(.invalidHeaderValue(name: "Content-Type"))? = reason(form)
        else {
            Issue.record("\(String(describing: reason(form)))")
            return
        }
    }

    @Test(arguments: [(3, 2), (1, 2)])
    func `a stream of another length than declared is an error`(declared: Int, given: Int) {
        let form = MultipartFormData()
        form.append(
            TestStream(String(repeating: "x", count: given)), withLength: UInt64(declared),
            name: "a",
            fileName: "f", mimeType: "t/t")
        guard case .inputStreamReadFailed(let error)? = reason(form) else {
            Issue.record("\(String(describing: reason(form)))")
            return
        }
        #expect(
            error as? SessionError.UnexpectedInputStreamLength
                == SessionError.UnexpectedInputStreamLength(
                    bytesExpected: UInt64(declared), bytesRead: UInt64(given)))
    }

    @Test(arguments: ["longer than before", "x"])
    func `a file whose size has changed is an error`(text: String) throws {
        let path = try scratch.write("before", to: "f.txt")
        let form = MultipartFormData()
        form.append(URL(filePath: path), withName: "a")
        try scratch.write(text, to: "f.txt")
        guard case .inputStreamReadFailed(let error)? = reason(form) else {
            Issue.record("\(String(describing: reason(form)))")
            return
        }
        #expect(error is SessionError.UnexpectedInputStreamLength)
    }

    @Test func `the error for a file that was removed names it`() throws {
        let path = try scratch.write("x", to: "f.txt")
        let form = MultipartFormData()
        form.append(URL(filePath: path), withName: "a")
        try FileManager.default.removeItem(atPath: path)
        #expect(reason(form).map { "\($0)" }?.contains("f.txt: stat: No such file") == true)
    }

    @Test func `the error of a failing stream is the reason`() {
        let form = MultipartFormData()
        form.append(BrokenStream(), withLength: 1, headers: ["X-A": "b"])
        guard case .inputStreamReadFailed(let error)? = reason(form) else {
            Issue.record("\(String(describing: reason(form)))")
            return
        }
        #expect(error is BrokenStream.Broken)
    }

    // MARK: Bytes

    @Test func `a form with two texts is encoded to the expected 241 bytes`() throws {
        let form = MultipartFormData()
        form.append(Data("français".utf8), withName: "french")
        form.append(Data("日本語".utf8), withName: "japanese")
        let b = form.boundary
        #expect(b.utf8.count == 35)
        let encoded = try form.encode()
        #expect(encoded.count == 241)
        #expect(form.contentLength == 18)
        #expect(form.contentType == "multipart/form-data; boundary=\(b)")
        #expect(
            String(decoding: encoded, as: UTF8.self)
                == "--\(b)\r\nContent-Disposition: form-data; name=\"french\"\r\n\r\nfrançais"
                + "\r\n--\(b)\r\nContent-Disposition: form-data; name=\"japanese\"\r\n\r\n日本語"
                + "\r\n--\(b)--\r\n")
    }

    @Test func `boundaries are random, and a given boundary is used`() {
        #expect(MultipartFormData().boundary != MultipartFormData().boundary)
        #expect(MultipartFormData(boundary: "mine").contentType.hasSuffix("boundary=mine"))
        #expect(MultipartFormData(boundary: "a:b").contentType.hasSuffix("boundary=\"a:b\""))
    }

    @Test(arguments: [
        ("a\\", nil, #"name="a\""#), ("a\\b", "c\\", #"name="a\b"; filename="c\""#),
        ("a\\", "; name=x; y=", #"name="a%5C"; filename="; name=x; y=""#),
        ("a\\\\", "b", #"name="a\%5C"; filename="b""#), ("\\", "b", #"name="%5C"; filename="b""#),
    ])
    func `a backslash does not escape the quote before another parameter`(
        name: String, fileName: String?, parameters: String
    ) throws {
        let form = MultipartFormData(boundary: "B")
        form.append(Data(), withName: name, fileName: fileName)
        #expect(
            String(decoding: try form.encode(), as: UTF8.self)
                == "--B\r\nContent-Disposition: form-data; \(parameters)\r\n\r\n\r\n--B--\r\n")
    }

    @Test func `quotes and line breaks in names are escaped`() throws {
        let form = MultipartFormData(boundary: "B")
        form.append(Data(), withName: "a\"; x=\"\r\nX-Evil: 1", fileName: "é\\\"\n.txt")
        #expect(
            String(decoding: try form.encode(), as: UTF8.self)
                == "--B\r\nContent-Disposition: form-data; name=\"a%22; x=%22%0D%0AX-Evil: 1\"; "
                + "filename=\"é\\%22%0A.txt\"\r\n\r\n\r\n--B--\r\n")
    }

    @Test func `files, streams and data are encoded in order with their headers`() throws {
        let form = MultipartFormData(boundary: "B")
        form.append(URL(filePath: try scratch.write("{}", to: "a.json")), withName: "file")
        form.append(
            TestStream("stream"), withLength: 6, name: "s", fileName: "s.bin",
            mimeType: "x/y")
        form.append(TestStream("own"), withLength: 3, headers: ["X-Own": "1"])
        form.append(Data("d".utf8), withName: "d", fileName: "d.txt", mimeType: "text/plain")
        let expected =
            "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.json\"\r\n"
            + "Content-Type: application/json\r\n\r\n{}"
            + "\r\n--B\r\nContent-Disposition: form-data; name=\"s\"; filename=\"s.bin\"\r\n"
            + "Content-Type: x/y\r\n\r\nstream"
            + "\r\n--B\r\nX-Own: 1\r\n\r\nown"
            + "\r\n--B\r\nContent-Disposition: form-data; name=\"d\"; filename=\"d.txt\"\r\n"
            + "Content-Type: text/plain\r\n\r\nd\r\n--B--\r\n"
        #expect(String(decoding: try form.encode(), as: UTF8.self) == expected)
        // Encoding rewinds the streams, so that the form can be encoded any number of times.
        #expect(String(decoding: try form.encode(), as: UTF8.self) == expected)
        #expect(form.contentLength == 12)
        #expect(try form.bodyStream().length == Int64(expected.utf8.count))
    }

    @Test func `a form without parts is empty`() throws {
        #expect(try MultipartFormData().encode() == Data())
        #expect(try MultipartFormData().bodyStream().length == 0)
    }

    @Test(arguments: [
        ("a.PNG", "image/png"), ("a.tar.gz", "application/gzip"), ("a.html", "text/html"),
        ("a.no-such-extension", "application/octet-stream"),
    ])
    func `the file extension decides the content type`(name: String, type: String) throws {
        let form = MultipartFormData()
        form.append(URL(filePath: try scratch.write("x", to: name)), withName: "a")
        let text = String(decoding: try form.encode(), as: UTF8.self)
        #expect(text.contains("\r\nContent-Type: \(type)\r\n"))
    }
}

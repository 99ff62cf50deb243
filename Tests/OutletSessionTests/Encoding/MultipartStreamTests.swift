import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import Testing

@Suite struct MultipartStreamTests {
    let scratch: TemporaryDirectory

    init() throws { scratch = try TemporaryDirectory() }

    private func read(_ stream: any BodyStream, by size: Int) throws -> Data {
        var all = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count = try stream.read(into: buffer)
            guard count > 0 else { return all }
            all.append(contentsOf: buffer[..<count])
        }
    }

    private func form() throws -> MultipartFormData {
        let form = MultipartFormData(boundary: "B")
        form.append(Data("data".utf8), withName: "d")
        form.append(URL(filePath: try scratch.write("file", to: "f.txt")), withName: "f")
        form.append(URL(filePath: try scratch.write("", to: "empty.txt")), withName: "e")
        form.append(TestStream("stream", length: 6), withName: "s")
        return form
    }

    @Test func `a length of any size that was given for a part is accepted`() throws {
        let form = MultipartFormData(boundary: "B")
        for name in ["a", "b"] {
            form.append(
                TestStream("x", length: 1), withLength: .max, name: name, fileName: name,
                mimeType: "a/b")
        }
        #expect(form.contentLength == .max)
        #expect(try form.bodyStream().length == .max)
    }

    @Test(arguments: [1, 2, 3, 7, 64, 4096])
    func `reads of any size return the same body`(size: Int) throws {
        let form = try form()
        let whole = try form.encode()
        let stream = try form.bodyStream()
        #expect(try read(stream, by: size) == whole)
        #expect(stream.length == Int64(whole.count))
        // Reads at the end return no bytes.
        #expect(try read(stream, by: size).isEmpty)
    }

    @Test func `after a rewind at any position the whole body is read again`() throws {
        let form = try form()
        let whole = try form.encode()
        for count in 0...whole.count {
            let stream = try form.bodyStream()
            var bytes = [UInt8](repeating: 0, count: max(count, 1))
            if count > 0 { _ = try bytes.withUnsafeMutableBytes { try stream.read(into: $0) } }
            try stream.rewind()
            #expect(try read(stream, by: 512) == whole)
        }
    }

    @Test func `a stream that cannot be rewound is an error at the second reading`() throws {
        let form = MultipartFormData()
        form.append(TestStream("once", length: 4, canRewind: false), withName: "s")
        let stream = try form.bodyStream()
        _ = try read(stream, by: 16)
        try stream.rewind()
        let error = #expect(throws: SessionError.self) { try read(stream, by: 16) }
        #expect(error?.underlyingError is TestStream.Gone)
    }

    @Test func `a stream of unknown length makes the length of the body unknown`() throws {
        let form = MultipartFormData(boundary: "B")
        form.append(TestStream("any"), withName: "s")
        let stream = try form.bodyStream()
        #expect(stream.length == nil)
        #expect(form.contentLength == 0)
        #expect(
            String(decoding: try read(stream, by: 9), as: UTF8.self).hasSuffix("any\r\n--B--\r\n"))
        guard case .stream = try form.uploadable() else {
            Issue.record("held in memory")
            return
        }
    }

    @Test func `a form waits for a stream that has no bytes yet`() throws {
        let form = MultipartFormData(boundary: "B")
        let supplied = SuppliedStream(name: "the clock")
        form.append(supplied, withName: "s")
        form.append(Data("data".utf8), withName: "d")
        let stream = try form.bodyStream()
        let ready = Recorder<Int>()
        func pieces(_ number: Int) throws -> String {
            var text = ""
            var bytes = [UInt8](repeating: 0, count: 512)
            while !stream.mustWait(ready: { ready.record(number) }) {
                let count = try bytes.withUnsafeMutableBytes { try stream.read(into: $0) }
                guard count > 0 else { break }
                text += String(decoding: bytes[..<count], as: UTF8.self)
            }
            return text
        }
        let head = "--B\r\nContent-Disposition: form-data; name=\"s\"\r\n\r\n"
        let tail = "\r\n--B\r\nContent-Disposition: form-data; name=\"d\"\r\n\r\ndata\r\n--B--\r\n"
        #expect(try pieces(1) == head)
        #expect(stream.name == "the clock")
        #expect(ready.count == 0)
        supplied.supply("12:00 ")
        #expect(ready.count == 1)
        #expect(try pieces(2) == "12:00 ")
        supplied.supply("12:01", isLast: true)
        #expect(ready.count == 2)
        #expect(try pieces(3) == "12:01" + tail)
        // Asked at its end, the stream would not have to be waited for: it is rewound before.
        try stream.rewind()
        #expect(try pieces(4) == head + "12:00 12:01" + tail)
    }

    @Test func `at most one file of a form is open at a time`() throws {
        let form = MultipartFormData(boundary: "B")
        for index in 0..<10 {
            form.append(URL(filePath: try scratch.write("x", to: "\(index).txt")), withName: "f")
        }
        let stream = try form.bodyStream()
        var byte: UInt8 = 0
        var last = Data()
        while try withUnsafeMutableBytes(of: &byte, { try stream.read(into: $0) }) > 0 {
            #expect(try scratch.openFiles() <= 1)
            last.append(byte)
        }
        #expect(try scratch.openFiles() == 0)
        #expect(last == (try form.encode()))
    }

    @Test func `small forms are encoded in memory, and large forms are streams`() throws {
        let form = MultipartFormData()
        form.append(Data(count: 10), withName: "a")
        guard case .data(let data) = try form.uploadable() else {
            Issue.record("not held in memory")
            return
        }
        #expect(data == (try form.encode()))
        guard case .stream = try form.uploadable(usingThreshold: 10) else {
            Issue.record("held in memory")
            return
        }
    }

    @Test func `a form is written only to a new file`() throws {
        let form = try form()
        let target = URL(filePath: scratch.path("out"))
        try form.writeEncodedData(to: target)
        #expect(try Data(contentsOf: target) == form.encode())
        let there = #expect(throws: SessionError.self) { try form.writeEncodedData(to: target) }
        #expect(there?.description.hasSuffix("/out: exists already") == true)
        let nowhere = URL(filePath: scratch.path("no/such/out"))
        let missing = #expect(throws: SessionError.self) { try form.writeEncodedData(to: nowhere) }
        #expect(missing?.description.hasSuffix("/no/such/out: cannot be created") == true)
        let web = try #require(URL(string: "http://example.test/out"))
        let other = #expect(throws: SessionError.self) { try form.writeEncodedData(to: web) }
        #expect(other?.description.hasSuffix(": not a file URL") == true)
    }

    @Test func `an incompletely written file is removed`() throws {
        let form = MultipartFormData()
        form.append(Data(count: 200_000), withName: "a")
        form.append(BrokenStream(), withLength: 1, headers: [:])
        let target = scratch.path("out")
        #expect(throws: SessionError.self) { try form.writeEncodedData(to: URL(filePath: target)) }
        #expect(!FileManager.default.fileExists(atPath: target))
    }
}

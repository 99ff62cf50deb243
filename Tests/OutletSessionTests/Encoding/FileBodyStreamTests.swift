import FoundationEssentials
import Glibc
import OutletTestSupport
import OutletTransport
import Testing

@testable import OutletSession

@Suite struct FileBodyStreamTests {
    let scratch: TemporaryDirectory

    init() throws { scratch = try TemporaryDirectory() }

    private func read(_ stream: FileBodyStream, by size: Int) throws -> String {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: size)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try stream.read(into: $0) }
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += buffer[..<count]
        }
    }

    @Test(arguments: [("/nowhere", ENOENT), ("/tmp", EISDIR), ("/dev/null", ESPIPE)])
    func `a path that is not a regular file is refused at once`(path: String, code: Int32) {
        let error = #expect(throws: FileAccessError.self) { try FileBodyStream(path: path) }
        #expect(error?.code == code)
        #expect(error?.description.hasPrefix("\(path): ") == true)
    }

    @Test func `a file whose size changes before it is read is an error`() throws {
        for text in ["ab", "abcd"] {
            let path = try scratch.write("abc", to: "f")
            let stream = try FileBodyStream(path: path)
            try scratch.write(text, to: "f")
            let error = #expect(throws: SessionError.UnexpectedInputStreamLength.self) {
                try read(stream, by: 10)
            }
            #expect(error?.file?.path == path)
        }
    }

    @Test func `a file that is written to while it is read is an error that names it`() throws {
        let path = try scratch.write("abcdef", to: "f")
        // Long ago, so that the change below has another time.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
        let stream = try FileBodyStream(path: path)
        var bytes = [UInt8](repeating: 0, count: 3)
        #expect(try bytes.withUnsafeMutableBytes { try stream.read(into: $0) } == 3)
        let descriptor = open(path, O_WRONLY)
        #expect(pwrite(descriptor, "ABCDEF", 6, 0) == 6)
        close(descriptor)
        let error = #expect(throws: TransferError.self) { try read(stream, by: 10) }
        #expect(error?.reason == "\(path): was written to while it was sent")
        // The next attempt sends the new content.
        stream.rewind()
        #expect(try read(stream, by: 10) == "ABCDEF")
    }

    @Test(arguments: ["", "a", "abc"])
    func `a file is read completely, and again after a rewind`(text: String) throws {
        let stream = try FileBodyStream(path: try scratch.write(text, to: "f"))
        #expect(stream.length == Int64(text.utf8.count))
        for size in 1...4 {
            #expect(try read(stream, by: size) == text)
            #expect(try read(stream, by: size) == "")
            #expect(try scratch.openFiles() == 0)
            stream.rewind()
        }
    }

    @Test func `a partly read file is closed when the stream is released or rewound`() throws {
        var stream: FileBodyStream? = try FileBodyStream(path: try scratch.write("abc", to: "f"))
        var byte: UInt8 = 0
        for _ in 0..<2 {
            _ = try withUnsafeMutableBytes(of: &byte) { try stream?.read(into: $0) }
            #expect(try scratch.openFiles() == 1)
            stream?.rewind()
            #expect(try scratch.openFiles() == 0)
        }
        _ = try withUnsafeMutableBytes(of: &byte) { try stream?.read(into: $0) }
        stream = nil
        #expect(try scratch.openFiles() == 0)
    }
}

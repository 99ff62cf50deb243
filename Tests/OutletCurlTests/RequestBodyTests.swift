import FoundationEssentials
import Glibc
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

@testable import OutletCurl

/// Request bodies, read the way libcurl's read callback does.
@Suite struct RequestBodyTests {
    /// Reads a whole body into buffers of `size` bytes.
    private func read(_ body: RequestBody, by size: Int) throws -> String {
        guard case .reader(let reader) = body else { throw Missing() }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: size)
        while case let count = try buffer.withUnsafeMutableBytes({ try reader.read(into: $0) }),
            count > 0
        {
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private struct Missing: Error {}

    /// Replaces the content of a file in place, and sets the time of its last change.
    private func rewrite(_ path: String, _ text: String, time: Int) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        var times = [timespec(tv_sec: time, tv_nsec: 0), timespec(tv_sec: time, tv_nsec: 1)]
        fflush(file)
        futimens(fileno(file), &times)
        fclose(file)
    }

    @Test(arguments: [
        ("body and more", 1, "became longer (from 4 to 13 bytes) while it was sent"),
        ("bo", 1, "became shorter while it was sent: it ended after"),
        ("ydob", 2, "was written to while it was sent"), ("body", 1, nil),
    ])
    func `a file that changes while it is sent fails before its last bytes are sent`(
        content: String, time: Int, fault: String?
    ) throws {
        let directory = try TemporaryDirectory()
        for size in [1, 3, 100] {
            let path = directory.path("file")
            try rewrite(path, "body", time: 1)
            let body = try RequestBody(.file(path: path))
            try rewrite(path, content, time: time)
            #expect(body.length == 4)
            guard let fault else {
                #expect(try read(body, by: size) == "body")
                continue
            }
            let error = #expect(throws: TransferError.self) { try read(body, by: size) }
            #expect(error?.code == .cannotOpenFile)
            #expect(error?.reason.hasPrefix("\(path): \(fault)") == true, "\(error as Any)")
        }
    }

    @Test(arguments: [1, 3, 100])
    func `a file that is rewritten just after it was written is noticed`(size: Int) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("file")
        // The kernel's clock may move on between the two writes, which then differ in their times.
        for _ in 0..<20 {
            try directory.write("body", to: "file")
            let body = try RequestBody(.file(path: path))
            guard case .reader(let reader) = body else { throw Missing() }
            var buffer = [UInt8](repeating: 0, count: size)
            let given = try buffer.withUnsafeMutableBytes { buffer throws(TransferError) in
                size < 4 ? try reader.read(into: buffer) : 0
            }
            let file = try #require(fopen(path, "r+"))
            fputs("ydob", file)
            fclose(file)
            if given == 0 {
                // Read as a whole after it was rewritten: that is the second content, or an error.
                #expect((try? read(body, by: size)) != "body")
                continue
            }
            let error = #expect(throws: TransferError.self) { try read(body, by: size) }
            #expect(error?.reason == "\(path): was written to while it was sent")
        }
        // Nobody writes to these.
        for text in ["body", String(repeating: "x", count: 300_000)] {
            try directory.write(text, to: "file")
            let body = try RequestBody(.file(path: path))
            #expect(try read(body, by: max(size, 100)) == text)
            guard case .reader(let reader) = body else { throw Missing() }
            try reader.rewind()
            #expect(try read(body, by: max(size, 100)) == text)
        }
    }

    @Test(arguments: [("/proc/version", nil), ("/dev/null", nil), ("empty", 0 as Int64?)])
    func `the length of a file that reports no size is not known`(
        name: String, length: Int64?
    ) throws {
        let directory = try TemporaryDirectory()
        let empty = try directory.write("", to: "empty")
        let body = try RequestBody(.file(path: name == "empty" ? empty : name))
        #expect(body.length == length)
        #expect(try read(body, by: 100).isEmpty == (name != "/proc/version"))
    }

    @Test(arguments: [1, 3, 100])
    func `a file is cut at the declared Content-Length`(size: Int) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("body and more", to: "file")
        let body = try RequestBody(.file(path: path)).declared(4)
        #expect(body.length == 4)
        #expect(try read(body, by: size) == "body")
        #expect(body.isCut)
    }

    /// A stream that fails after some bytes.
    private final class BreakingStream: BodyStream {
        struct Broken: Error {}

        let length: Int64?
        private let given = Lock(0)

        init(length: Int64?) { self.length = length }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            guard given.withLock({ $0 }) < 4 else { throw Broken() }
            buffer.copyBytes(from: Array("body".utf8))
            given.withLock { $0 = 4 }
            return 4
        }
        func rewind() throws { given.withLock { $0 = 0 } }
    }

    @Test func `a stream that fails after its own length fails before its last bytes are sent`()
        throws
    {
        let error = #expect(throws: TransferError.self) {
            try read(try RequestBody(.stream(BreakingStream(length: 4))), by: 100)
        }
        #expect(error?.reason.hasPrefix("the request's body stream failed at byte 4") == true)
    }

    @Test func `a stream that fails after the declared Content-Length is cut`() throws {
        let body = try RequestBody(.stream(BreakingStream(length: nil))).declared(4)
        #expect(try read(body, by: 100) == "body")
        #expect(body.isCut)
    }

    /// A faulty stream: `read` returns the size of the buffer plus `more`.
    private final class FaultyStream: BodyStream {
        let more: Int
        let length: Int64? = nil

        init(_ more: Int) { self.more = more }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int { buffer.count + more }
        func rewind() throws {}
    }

    @Test(arguments: [1, -101])
    func `a stream that returns more than the buffer's size or less than 0 is an error`(
        more: Int
    ) throws {
        let error = #expect(throws: TransferError.self) {
            try read(try RequestBody(.stream(FaultyStream(more))), by: 100)
        }
        #expect(
            error?.reason
                == "the request's body stream: gave \(100 + more) bytes for a buffer of 100")
    }
}

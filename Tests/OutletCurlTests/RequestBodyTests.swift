import FoundationEssentials
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

    @Test(arguments: [1, 3, 100])
    func `a file that grows during the transfer is sent with its initial length`(size: Int) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("body", to: "file")
        let body = try RequestBody(.file(path: path))
        try directory.write("body and more", to: "file")
        #expect(body.length == 4)
        #expect(try read(body, by: size) == "body")
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

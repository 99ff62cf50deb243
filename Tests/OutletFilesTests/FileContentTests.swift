import FoundationEssentials
import Glibc
import OutletFiles
import OutletTestSupport
import Testing

@Suite struct FileContentTests {
    private func content(of path: String) throws -> Data {
        try Data(contentOf: URL(filePath: path))
    }

    @Test func `a file is read whole, one with nothing in it as nothing`() throws {
        let directory = try TemporaryDirectory()
        #expect(try content(of: directory.write("text", to: "file")) == Data("text".utf8))
        #expect(try content(of: directory.write("", to: "empty")).isEmpty)
    }

    @Test func `a file of the kernel's, which says that it is empty, has its content all the same`()
        throws
    {
        #expect(try content(of: "/proc/self/status").starts(with: Data("Name:".utf8)))
    }

    @Test func `what cannot be read is an error`() throws {
        let directory = try TemporaryDirectory()
        #expect(throws: CocoaError.self) { try content(of: directory.path("nowhere")) }
    }

    @Test func `what is no plain file is not waited for`() throws {
        let directory = try TemporaryDirectory()
        let pipe = directory.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        for (path, kind) in [
            (pipe, "a named pipe"), ("/dev/null", "a device"), (directory.path, "a directory"),
        ] {
            let error = #expect(throws: NotPlainFile.self) { try content(of: path) }
            #expect(error?.description == "\(path) is \(kind), not a plain file")
        }
    }
}

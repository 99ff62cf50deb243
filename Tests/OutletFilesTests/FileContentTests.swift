import FoundationEssentials
import Glibc
import OutletFiles
import OutletTestSupport
import Testing

@Suite struct FileContentTests {
    private func content(of path: String) throws -> Data {
        try Data(contentOf: URL(filePath: path))
    }

    @Test func `a file is read completely, and an empty file has no content`() throws {
        let directory = try TemporaryDirectory()
        #expect(try content(of: directory.write("text", to: "file")) == Data("text".utf8))
        #expect(try content(of: directory.write("", to: "empty")).isEmpty)
    }

    @Test func `a file in proc is read although its reported size is 0`()
        throws
    {
        #expect(try content(of: "/proc/self/status").starts(with: Data("Name:".utf8)))
    }

    @Test func `a missing file is an error`() throws {
        let directory = try TemporaryDirectory()
        let error = #expect(throws: CocoaError.self) { try content(of: directory.path("nowhere")) }
        #expect(error?.fileReason == "No such file or directory")
    }

    @Test func `a file that is not a plain file is refused without waiting`() throws {
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

import FoundationEssentials
import Glibc
import OutletTestSupport
import Testing

@testable import OutletSession

@Suite struct PartFileTests {
    @Test
    func `a released part file is unlocked, even if a child process has inherited its descriptor`()
        throws
    {
        let directory = try TemporaryDirectory()
        var part: PartFile? = try PartFile(in: directory.url)
        let (path, descriptor) = try #require(part.map { ($0.path, $0.descriptor) })
        let inherited = dup(descriptor)
        defer { close(inherited) }
        #expect(PartFile(takingOver: path) == nil)
        part = nil
        #expect(PartFile(takingOver: path) != nil)
    }

    @Test func `only a regular file with the name of a part file is taken over`() throws {
        let directory = try TemporaryDirectory()
        func path(_ name: String) -> String { directory.url.appending(path: name).path }
        let name = "Outlet_00000000-0000-0000-0000-000000000000.part"
        #expect(mkfifo(path(name), 0o600) == 0)
        #expect(PartFile(takingOver: path(name)) == nil)
        #expect(unlink(path(name)) == 0)
        try directory.write("x", to: "other")
        #expect(PartFile(takingOver: path("other")) == nil)
        #expect(symlink(path("other"), path(name)) == 0)
        #expect(PartFile(takingOver: path(name)) == nil)
        #expect(unlink(path(name)) == 0)
        try directory.write("x", to: name)
        #expect(PartFile(takingOver: path(name)) != nil)
    }

    @Test func `a path with a NUL before the name of a part file takes no file over`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("x", to: "secret")
        let name = "Outlet_00000000-0000-0000-0000-000000000000.part"
        #expect(PartFile(takingOver: "\(path)\0/\(name)") == nil)
    }

    @Test func `a file that has another name, too, is not taken over`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("x", to: "other")
        let name = directory.path("Outlet_00000000-0000-0000-0000-000000000000.part")
        #expect(link(path, name) == 0)
        #expect(PartFile(takingOver: name) == nil)
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
    func `another user's file is not taken over`() throws {
        let directory = try TemporaryDirectory()
        let part = directory.url.appending(
            path: "Outlet_00000000-0000-0000-0000-000000000000.part")
        try directory.write("x", to: part.lastPathComponent)
        #expect(chown(part.path, 65_534, 65_534) == 0)
        #expect(PartFile(takingOver: part.path) == nil)
    }
}

import FoundationEssentials
import OutletTestSupport
import Testing

@testable import OutletSession

@Suite struct StalePartialFilesTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Removes part files last written more than an hour ago.
    private func clear() {
        StalePartialFiles.remove(from: directory.url, lastWrittenBefore: .now - 3_600)
    }

    /// Sets a file's modification date to one day ago.
    private func age(_ name: String) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date.now - 86_400],
            ofItemAtPath: directory.url.appending(path: name).path)
    }

    @Test func `a part that nobody has gone on with is cleared away`() throws {
        let part = try PartFile(in: directory.url).url.lastPathComponent
        try age(part)
        clear()
        #expect(directory.names.isEmpty)
    }

    @Test func `a part that may still be wanted stays`() throws {
        let part = try PartFile(in: directory.url).url.lastPathComponent
        clear()
        #expect(directory.names == [part])
    }

    @Test func `a part under way stays, however long nothing has come`() throws {
        let part = try PartFile(in: directory.url)
        try age(part.url.lastPathComponent)
        clear()
        #expect(directory.names == [part.url.lastPathComponent])
    }

    @Test func `what is no part stays`() throws {
        let uuid = UUID().uuidString
        let others = [
            "Outlet_\(uuid)", "\(uuid).part", "Outlet_notes.part", "Outlet_\u{301}\(uuid).part",
        ]
        for name in others {
            try directory.write("", to: name)
            try age(name)
        }
        let link = directory.url.appending(path: "Outlet_\(UUID().uuidString).part")
        try FileManager.default.createSymbolicLink(
            at: link, withDestinationURL: directory.url.appending(path: others[0]))
        StalePartialFiles.remove(from: directory.url, lastWrittenBefore: .distantFuture)
        #expect(directory.names == (others + [link.lastPathComponent]).sorted())
    }
}

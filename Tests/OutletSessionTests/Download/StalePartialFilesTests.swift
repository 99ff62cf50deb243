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

    @Test func `an old unused part file is removed`() throws {
        let part = try PartFile(in: directory.url).url.lastPathComponent
        try age(part)
        clear()
        #expect(directory.names.isEmpty)
    }

    @Test func `a recent part file is kept`() throws {
        let part = try PartFile(in: directory.url).url.lastPathComponent
        clear()
        #expect(directory.names == [part])
    }

    @Test func `an old part file that is in use is kept`() throws {
        let part = try PartFile(in: directory.url)
        try age(part.url.lastPathComponent)
        clear()
        #expect(directory.names == [part.url.lastPathComponent])
    }

    @Test func `files that are not part files are kept`() throws {
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

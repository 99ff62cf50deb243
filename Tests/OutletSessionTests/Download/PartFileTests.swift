import Glibc
import Testing

@testable import OutletSession

@Suite struct PartFileTests {
    @Test func `a part is free once it is let go, even while a process is being started`() throws {
        let directory = try TestDirectory()
        var part: PartFile? = try PartFile(in: directory.url)
        let (path, descriptor) = try #require(part.map { ($0.path, $0.descriptor) })
        let inherited = dup(descriptor)
        defer { close(inherited) }
        #expect(PartFile(takingOver: path) == nil)
        part = nil
        #expect(PartFile(takingOver: path) != nil)
    }
}

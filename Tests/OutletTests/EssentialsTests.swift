import OutletTestSupport
import Testing

/// The tests link full Foundation, which changes the behaviour of FoundationEssentials.
@Suite struct `A program that links FoundationEssentials alone` {
    @Test func `the program does not link full Foundation`() async throws {
        let result = try await Program.run(
            "/usr/bin/ldd", [Products.path("OutletEssentials")])
        #expect(result.exitCode == 0)
        #expect(result.output.contains("libFoundationEssentials.so"))
        #expect(!result.output.contains("libFoundation.so"))
    }

    @Test func `the program sends every kind of request and body`() async throws {
        let directory = try TemporaryDirectory()
        let result = try await Program.run(
            Products.path("OutletEssentials"), [directory.path], deadline: .seconds(60))
        #expect(
            result.output.split(separator: "\n") == [
                "data", "query", "form", "encodable form", "json", "encodable json",
                "property list", "multipart from data", "multipart from a file",
                "multipart from a stream", "multipart in memory", "upload of data",
                "upload of a file", "upload of a stream", "download", "stream", "web socket",
            ])
        #expect(result.exitCode == 0, "\(result.output)\(result.errorOutput)")
    }
}

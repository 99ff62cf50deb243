import FoundationEssentials
import Testing

/// Runs each parser on the inputs in `Corpora`: valid and invalid ones, and those that the fuzzer
/// found.
@Suite struct CorpusTests {
    private static let corpora = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Corpora")

    @Test(arguments: FuzzTarget.all.map(\.name))
    func `the rules of a parser hold for its corpus`(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let directory = Self.corpora.appending(path: name)
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!files.isEmpty)
        for file in files.sorted() {
            let data = try Data(contentsOf: directory.appending(path: file))
            #expect(throws: Never.self, "\(name)/\(file)") { try target.run(data) }
            // Also truncated, like the input from a connection that is lost.
            for length in stride(from: 0, to: min(data.count, 400), by: 7) {
                #expect(throws: Never.self, "\(name)/\(file), \(length) bytes of it") {
                    try target.run(data.prefix(length))
                }
            }
        }
    }

    @Test func `every corpus belongs to a parser`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.corpora.path)
        #expect(Set(names) == Set(FuzzTarget.all.map(\.name)))
    }
}

import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Response fields whose bytes differ from their characters, over libcurl.
@Suite struct HostileBytesTests {
    private func percentEncoded(_ text: String) -> String {
        text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test(arguments: [
        "../outside", "..\u{2F}\u{FE0F}outside", "..\u{2F}\u{301}../\u{301}outside",
        "..\\\u{301}outside",
        "/\u{2028}../outside", "\u{0}/../outside", "..%2F..%2Foutside", ".\u{200B}./outside", "..",
        "../\u{FE0F}../\u{FE0F}outside/\u{FE0F}", "/etc/\u{301}passwd", ".\u{FE0F}/outside",
    ])
    func `a file name from a server does not leave the download directory`(name: String)
        async throws
    {
        let directory = try TemporaryDirectory()
        let folder = directory.path("one/two/three")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let raw = name.utf8.filter { $0 >= 0x20 && $0 != UInt8(ascii: "\\") }
        let fields = [
            "filename*=UTF-8''\(percentEncoded(name))",
            "filename=\"\(String(decoding: raw, as: UTF8.self))\"",
        ]
        for field in fields {
            let server = try ScriptedServer.start(
                .request,
                .respond(headers: ["Content-Disposition: attachment; \(field)"], body: "hostile"))
            let session = Session()
            let response = await session.download(
                "\(server.baseURL)/",
                to: DownloadRequest.suggestedDownloadDestination(
                    in: URL(filePath: folder), options: .removePreviousFile)
            ).serializingDownloadedFileURL().response
            withExtendedLifetime(session) {}
            #expect(response.error == nil)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(names.count == 1 && names.first.map { $0.utf8.first != 0x2E } == true)
            for outer in ["one/two", "one"] {
                let found = try FileManager.default.contentsOfDirectory(
                    atPath: directory.path(outer))
                #expect(found.count == 1)
            }
            for name in names { try FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
        }
    }

    @Test(arguments: ["\u{2028}", "\u{85}", "\u{2029}", "\u{B}", "\u{C}", "\t", "\u{301}"])
    func `a cookie with special characters is not saved for another domain`(
        character: String
    ) async throws {
        let directory = try TemporaryDirectory()
        let server = try ScriptedServer.start(
            .request,
            .respond(headers: [
                "Set-Cookie: a=1\(character).bank.test\tTRUE\t/\tFALSE\t4000000000\tsession\tstolen",
                "Set-Cookie: good=1",
            ]))
        let storage = CookieStorage()
        var configuration = SessionConfiguration()
        configuration.httpCookieStorage = storage
        let session = Session(configuration: configuration)
        _ = await session.request("\(server.baseURL)/").serializingUnserialized().response
        let file = URL(filePath: directory.path("jar"))
        try storage.save(to: file)
        let copy = CookieStorage()
        try copy.load(contentsOf: file)
        #expect(copy.cookies.map(\.domain) == ["127.0.0.1"])
        #expect(copy.cookies.map(\.name) == ["good"])
    }
}

import OutletSession
import Testing

@testable import OutletCurl
import OutletTransport

@Suite struct `The version of libcurl` {
    @Test(arguments: [0x07_57_00, 0x07_58_01, 0x08_00_00, 0x08_11_01] as [UInt32])
    func `version 7.87.0 and later are accepted`(version: UInt32) throws {
        try LibraryVersion.check(version)
    }

    @Test(
        arguments: [(0x07_56_01, "7.86.1"), (0x07_4A_00, "7.74.0"), (0, "0.0.0")]
            as [(UInt32, String)])
    func `an older version is refused with an error that contains both versions`(
        version: UInt32, text: String
    ) {
        let error = #expect(throws: TransferError.self) { try LibraryVersion.check(version) }
        #expect(
            error?.reason == "libcurl \(text) is too old: 7.87.0 or later is needed")
    }

    @Test(
        arguments: [
            (0x07_57_00, false), (0x07_58_00, true), (0x07_58_01, true), (0x08_00_00, false),
        ] as [(UInt32, Bool)])
    func `version 7.88 loses connections with prior knowledge`(version: UInt32, loses: Bool) {
        #expect(LibraryVersion.losesPriorKnowledge(version) == loses)
    }

    @Test func `the running version equals the one in libcurl's version string`() {
        let running = LibraryVersion.running
        let text = "\(running >> 16 & 0xFF).\(running >> 8 & 0xFF).\(running & 0xFF)"
        #expect(CurlTransport.libraryVersion.contains("libcurl/\(text)"))
    }
}

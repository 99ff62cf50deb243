import OutletCompression
import Testing

@Suite struct ContentDecoderTests {
    /// "0123456789" in a coding.
    struct Sample: Sendable, CustomTestStringConvertible {
        let field: String
        let bytes: [UInt8]
        var isMany = false
        var testDescription: String { "\(field), \(bytes.count) bytes" }
    }

    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x33, 0x30,
        0x34, 0x32, 0x36, 0x31, 0x35, 0x33, 0xB7, 0xB0, 0x04, 0x00, 0xC6, 0xC7,
        0x84, 0xA6, 0x0A, 0x00, 0x00, 0x00,
    ]
    private static let bare: [UInt8] = [
        0x33, 0x30, 0x34, 0x32, 0x36, 0x31, 0x35, 0x33, 0xB7, 0xB0, 0x04, 0x00,
    ]
    private static let zstd: [UInt8] = [
        0x28, 0xB5, 0x2F, 0xFD, 0x24, 0x0A, 0x51, 0x00, 0x00, 0x30, 0x31, 0x32,
        0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0xE7, 0x67, 0x18, 0xA8,
    ]
    private static let brotli: [UInt8] = [
        0x8B, 0x04, 0x80, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x03,
    ]

    static let samples = [
        Sample(field: "gzip", bytes: gzip, isMany: true),
        Sample(field: "X-GZip", bytes: gzip, isMany: true),
        Sample(field: "deflate", bytes: [0x78, 0x5E] + bare + [0x0A, 0xFF, 0x02, 0x0E]),
        Sample(field: "deflate", bytes: bare),
        Sample(field: "br", bytes: brotli),
        Sample(field: "zstd", bytes: zstd, isMany: true),
    ]

    /// Decodes the bytes in pieces of `size` bytes.
    private func decode(
        _ decoder: ContentDecoder, _ bytes: some Collection<UInt8>, by size: Int
    ) throws -> String {
        var text: [UInt8] = []
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            try Array(rest.prefix(size)).withUnsafeBytes { piece in
                var input = piece
                loop: while true {
                    switch try decoder.decode(&input) {
                    case .piece(let output): text += output
                    case .passed: continue
                    case .consumed: break loop
                    }
                }
                #expect(input.isEmpty)
            }
            rest = rest.dropFirst(size)
        }
        return String(decoding: text, as: UTF8.self)
    }

    @Test(arguments: samples, [1, 2, 7, 1000])
    func `a coding is decoded regardless of the size of the pieces`(sample: Sample, size: Int)
        throws
    {
        let decoder = try #require(try ContentDecoder.make([sample.field]))
        #expect(try decode(decoder, sample.bytes, by: size) == "0123456789")
        #expect(decoder.isAtEnd)
    }

    @Test(arguments: samples)
    func `a truncated coding is not at its end`(sample: Sample) throws {
        for count in 0..<sample.bytes.count {
            let decoder = try #require(try ContentDecoder.make([sample.field]))
            let text = try decode(decoder, sample.bytes.prefix(count), by: 1000)
            #expect("0123456789".hasPrefix(text))
            #expect(!decoder.isAtEnd, "\(count) bytes")
        }
    }

    @Test(arguments: samples, [1, 1000])
    func `a second member continues the body if the coding allows members`(
        sample: Sample, size: Int
    ) throws {
        let decoder = try #require(try ContentDecoder.make([sample.field]))
        let twice = sample.bytes + sample.bytes
        guard sample.isMany else {
            #expect(throws: ContentDecoder.Failure.self) {
                try decode(decoder, twice, by: size)
            }
            return
        }
        #expect(try decode(decoder, twice, by: size) == "01234567890123456789")
        #expect(decoder.isAtEnd)
    }

    @Test func `several codings are decoded in reverse order`() throws {
        // gzip of the brotli sample, stored: a block of 14 bytes as they are.
        let stored: [UInt8] = [0x01, 0x0E, 0x00, 0xF1, 0xFF] + Self.brotli
        for fields in [["br, deflate"], ["br", " identity,\tDeflate "]] {
            for size in [1, 1000] {
                let decoder = try #require(try ContentDecoder.make(fields))
                #expect(try decode(decoder, stored, by: size) == "0123456789")
                #expect(decoder.isAtEnd)
            }
            let decoder = try #require(try ContentDecoder.make(fields))
            _ = try decode(decoder, stored.dropLast(), by: 1000)
            #expect(!decoder.isAtEnd)
        }
    }

    @Test func `identity and empty codings need no decoder`() throws {
        for fields in [[], [""], ["identity"], ["none, identity"]] {
            #expect(try ContentDecoder.make(fields) == nil)
        }
    }

    @Test func `an unknown coding and too many codings are errors`() {
        #expect(throws: ContentDecoder.Failure.self) { try ContentDecoder.make(["gzip, rot13"]) }
        let error = #expect(throws: ContentDecoder.Failure.self) {
            try ContentDecoder.make(["rot13"])
        }
        let text = "rot13: not a coding that is undone here: gzip"
        #expect(error?.description.hasPrefix(text) == true)
        #expect(throws: ContentDecoder.Failure.self) {
            try ContentDecoder.make([Array(repeating: "gzip", count: 3).joined(separator: ",")])
        }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd"])
    func `invalid data is an error that names the coding`(field: String) throws {
        let decoder = try #require(try ContentDecoder.make([field]))
        do {
            _ = try decode(decoder, Array("\u{7}this is no coding at all".utf8), by: 1000)
            Issue.record("it was decoded")
        } catch let failure as ContentDecoder.Failure {
            #expect(failure.description.hasPrefix("\(field): "))
        }
    }

    @Test func `a zstd frame that needs more than 8 MiB of memory is refused`() throws {
        // Window descriptor 0x70: 2^(10+14), 16 MiB.
        let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x70, 0x01, 0x00, 0x00]
        let decoder = try #require(try ContentDecoder.make(["zstd"]))
        #expect(throws: ContentDecoder.Failure.self) { try decode(decoder, frame, by: 1000) }
    }

    /// Members and frames without content.
    static let emptyMembers = [
        Sample(
            field: "gzip",
            bytes: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        // A frame with one empty block, and a skippable frame.
        Sample(field: "zstd", bytes: [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x00, 0x01, 0x00, 0x00]),
        Sample(field: "zstd", bytes: [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0]),
    ]

    @Test(arguments: emptyMembers)
    func `more than 1000 members without content exceed a limit`(empty: Sample) throws {
        let full = empty.field == "gzip" ? Self.gzip : Self.zstd
        for (count, isFine) in [(1000, true), (1001, false)] {
            let decoder = try #require(try ContentDecoder.make([empty.field]))
            let bytes = Array(repeating: empty.bytes, count: count).joined() + full
            guard !isFine else {
                #expect(try decode(decoder, Array(bytes), by: 1000) == "0123456789")
                continue
            }
            let error = #expect(throws: ContentDecoder.Failure.self) {
                try decode(decoder, Array(bytes), by: 1000)
            }
            #expect(error?.isExcess == true)
        }
        // Members with content are not limited.
        let decoder = try #require(try ContentDecoder.make([empty.field]))
        let many = Array(Array(repeating: full, count: 2000).joined())
        #expect(try decode(decoder, many, by: 1000).utf8.count == 20_000)
    }

    @Test func `each call passes one piece at most between two codings`() throws {
        // A frame of one block, 128 KiB of 'a', which the inner coding skips as a file name that
        // does not end.
        let frame: [UInt8] = [
            0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38, 0x50, 0x00, 0x00,
            0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 0xFF, 0x02, 0x00, 0x10, 0x61, 0x01, 0x00, 0x00,
        ]
        let decoder = try #require(try ContentDecoder.make(["gzip, zstd"]))
        try frame.withUnsafeBytes { bytes in
            var input = bytes
            var calls = 0
            while case .passed = try decoder.decode(&input) { calls += 1 }
            #expect(calls > 4)
        }
        #expect(decoder.passed == 10 + (128 << 10))
    }

    @Test func `a truncated outer coding is not at its end even if the inner one is`() throws {
        // gzip once more, stored as it is; its sum and length would follow.
        let count = UInt8(Self.brotli.count)
        let outer =
            [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0xFF, 0x01, count, 0, ~count, 0xFF] + Self.brotli
        let decoder = try #require(try ContentDecoder.make(["br, gzip"]))
        #expect(try decode(decoder, outer, by: 100) == "0123456789")
        #expect(!decoder.isAtEnd)
    }
}

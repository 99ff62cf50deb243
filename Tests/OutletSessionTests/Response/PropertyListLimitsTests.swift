import FoundationEssentials
import OutletHTTP
import OutletSession
import Testing

/// Property lists that would overflow the stack, or never end, in Foundation's decoder.
@Suite struct PropertyListLimitsTests {
    /// Any value; arrays are decoded in turn.
    private struct AnyValue: Decodable {
        init(from decoder: any Decoder) throws {
            guard var elements = try? decoder.unkeyedContainer() else { return }
            while !elements.isAtEnd { _ = try elements.decode(AnyValue.self) }
        }
    }

    private func decode<T: Decodable & Sendable>(_ type: T.Type, _ data: Data) throws -> T {
        try DecodableResponseSerializer<T>(decoder: PropertyListDecoder()).serialize(
            request: nil, response: nil, data: data, error: nil)
    }

    private func fault(_ data: Data) -> String? {
        do {
            _ = try decode(AnyValue.self, data)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func xml(_ levels: Int, _ inside: String = "") -> String {
        "<?xml version=\"1.0\"?><!DOCTYPE plist><plist version=\"1.0\">"
            + String(repeating: "<array>", count: levels) + inside
            + String(repeating: "</array>", count: levels) + "</plist>"
    }

    private func utf16(_ text: String, isLittle: Bool) -> Data {
        var data = Data(isLittle ? [0xFF, 0xFE] : [0xFE, 0xFF])
        for unit in text.utf16 {
            let bytes = [UInt8(unit & 0xFF), UInt8(unit >> 8)]
            data += isLittle ? bytes : bytes.reversed()
        }
        return data
    }

    @Test func `512 levels of XML are decoded, and more are an error that says so`() {
        #expect(fault(Data(xml(512).utf8)) == nil)
        for levels in [513, 20_000] {
            #expect(
                fault(Data(xml(levels).utf8))?.contains("nested deeper than 512 levels") == true)
        }
        let dictionaries = String(repeating: "<dict><key>a</key>", count: 20_000)
        #expect(fault(Data("<plist>\(dictionaries)".utf8))?.contains("512 levels") == true)
        let roots = String(repeating: "<plist>", count: 20_000)
        #expect(fault(Data(roots.utf8))?.contains("512 levels") == true)
    }

    @Test(arguments: [
        "<!-- </array> -->", "<?a </array> ?>", "<string><![CDATA[</array>]]></string>", "<array/>",
        "<array /><dict></dict>",
    ])
    func `the depth is counted past comments, instructions, texts and empty tags`(inside: String) {
        let many = String(repeating: inside, count: 600)
        #expect(fault(Data(xml(500, many).utf8)) == nil)
        #expect(fault(Data(xml(513, many).utf8))?.contains("512 levels") == true)
        let before = "<!-- </array> --><plist>" + String(repeating: "<array>\(inside)", count: 600)
        #expect(fault(Data(before.utf8))?.contains("512 levels") == true)
    }

    @Test(arguments: [false, true])
    func `UTF-16 has the same limits`(isLittle: Bool) {
        // Its bytes are those of `</array>` without the zeros.
        let hidden =
            "<string>\u{3C00}\u{2F00}\u{6100}\u{7200}\u{7200}\u{6100}\u{7900}\u{3E00}</string>"
        #expect(fault(utf16(xml(500, hidden), isLittle: isLittle)) == nil)
        let deep = utf16(
            "<plist>" + String(repeating: "<array>\(hidden)", count: 600), isLittle: isLittle)
        #expect(fault(deep)?.contains("512 levels") == true)
    }

    @Test(arguments: [
        // UTF-32 in big endian, then in little endian after the mark of Foundation and its own one.
        ([0x00, 0x00, 0xFE, 0xFF] as [UInt8], 4, false), ([0xFE, 0xFF, 0x00, 0x00], 4, true),
        ([0xFF, 0xFE, 0x00, 0x00], 4, true),
        // The mark of UTF-16, twice.
        ([0xFE, 0xFF, 0xFE, 0xFF], 2, false), ([0xFF, 0xFE, 0xFF, 0xFE], 2, true),
        // UTF-16 after a mark that is also one of UTF-32.
        ([0xFF, 0xFE, 0x00, 0x00], 2, true), ([0xFE, 0xFF, 0x00, 0x00], 2, false),
        ([0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF], 1, true),
    ])
    func `a deep list is an error in every encoding`(mark: [UInt8], size: Int, isLittle: Bool) {
        for text in [xml(20_000), String(repeating: "(", count: 20_000)] {
            var data = Data(mark)
            for byte in text.utf8 {
                let zeros = [UInt8](repeating: 0, count: size - 1)
                data += isLittle ? [byte] + zeros : zeros + [byte]
            }
            #expect(fault(data)?.contains("512") == true)
        }
    }

    @Test func `UTF-32 is decoded within the limits`() {
        let text = xml(400).unicodeScalars
        let data = Data([0, 0, 0xFE, 0xFF] + text.flatMap { [0, 0, 0, UInt8($0.value)] })
        #expect(fault(data) == nil)
    }

    @Test(arguments: ["UTF-16", "UTF-32BE", "UTF-7", "ISO-8859-1", "IBM037"])
    func `an encoding that the XML declares does not hide its depth`(encoding: String) {
        let declaration = "<?xml version=\"1.0\" encoding=\"\(encoding)\"?><plist>"
        let list = declaration + String(repeating: "<array>", count: 20_000)
        #expect(fault(Data(list.utf8))?.contains("512 levels") == true)
    }

    @Test func `the old format may have 512 arrays and dictionaries`() {
        func list(_ count: Int) -> Data {
            Data((String(repeating: "(", count: count) + String(repeating: ")", count: count)).utf8)
        }
        #expect(fault(list(512)) == nil)
        #expect(fault(list(20_000))?.contains("more than 512 arrays and dictionaries") == true)
    }

    /// A binary list of objects, whose references have two bytes; the first one is the root.
    private func binary(_ objects: [[UInt8]]) -> Data {
        var data = Data("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += [
                UInt8(data.count >> 16), UInt8(data.count >> 8 & 0xFF), UInt8(data.count & 0xFF),
            ]
            data += object
        }
        let table = data.count
        data += offsets + [0, 0, 0, 0, 0, 0, 3, 2]
        for number in [objects.count, 0, table] {
            data += (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        return data
    }

    /// An array that refers to objects.
    private func array(_ elements: Int...) -> [UInt8] {
        [0xA0 | UInt8(elements.count)] + elements.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }

    @Test func `a binary list may be nested in 512 levels`() {
        func list(_ levels: Int) -> Data {
            binary((1..<levels).map { array($0) } + [array()])
        }
        #expect(fault(list(512)) == nil)
        for levels in [513, 20_000] {
            #expect(fault(list(levels))?.contains("nested deeper than 512 levels") == true)
        }
    }

    @Test func `a binary list that contains itself is an error`() {
        #expect(fault(binary([array(0)]))?.contains("512 levels") == true)
        let dictionary: [UInt8] = [0xD1, 0, 1, 0, 0]
        #expect(fault(binary([dictionary, [0x51, 0x61]]))?.contains("512 levels") == true)
    }

    @Test func `a binary list that stands for more values than fit into memory is an error`() {
        let doubled = (1...40).map { array($0, $0) } + [[0x51, 0x61]]
        #expect(fault(binary(doubled))?.contains("repeats its values too often") == true)
        // Shared objects are fine within limits.
        #expect(fault(binary([array(1, 1, 1), array(2, 2), [0x51, 0x61]])) == nil)
        // Every object is the same large array.
        let large: [UInt8] = [0xAF, 0x11, 0x10, 0] + Array(repeating: 0, count: 8192)
        var overlapping = binary([large] + Array(repeating: [], count: 4000))
        let table = 8 + large.count
        for index in 0...4000 {
            overlapping.replaceSubrange(
                (table + index * 3)..<(table + index * 3 + 3), with: [0, 0, 8])
        }
        #expect(fault(overlapping) != nil)
    }

    @Test func `broken binary lists are read within their bounds`() throws {
        let list = binary([array(1), [0x51, 0x61]])
        #expect(try decode([String].self, list) == ["a"])
        for end in 9..<list.count { #expect(fault(list.prefix(end)) != nil) }
        for index in 8..<list.count {
            var broken = list
            broken[index] = 0xFF
            _ = fault(broken)
        }
    }

    /// The eight bytes of a number, the highest one first.
    private func bytes(of number: UInt64) -> [UInt8] {
        let shifts: [UInt64] = [56, 48, 40, 32, 24, 16, 8, 0]
        return shifts.map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    @Test func `a trailer may have any numbers`() {
        let largest = UInt64(Int.max)
        let numbers = [0, 1, 8, 9, 1 << 62, largest - 8, largest - 1, largest, largest + 1]
        for size in [0, 1, 2, 8, 16, 255] as [UInt8] {
            for count in numbers {
                for root in numbers {
                    for table in numbers {
                        var list = Array("bplist00".utf8) + [0xA1, 0, 8, 9]
                        list += [0, 0, 0, 0, 0, 0, size, size]
                        list += bytes(of: count) + bytes(of: root) + bytes(of: table)
                        _ = fault(Data(list))
                    }
                }
            }
        }
    }

    @Test func `a count may be any number`() {
        let lengths: [UInt64] = [.max, 1 << 63, 1 << 62, 1 << 61, .max / 2, 1 << 32]
        for length in lengths {
            for marker in [0x4F, 0x5F, 0x6F, 0x7F, 0xAF, 0xCF, 0xDF] as [UInt8] {
                let value = [marker, 0x13] + bytes(of: length)
                // As the root, and as an element.
                for list in [binary([value]), binary([array(1), value])] {
                    #expect(fault(list)?.contains("is longer than the list") == true)
                }
            }
        }
    }

    @Test func `lists that Foundation writes are decoded`() throws {
        let value = ["a": [["b": Array(repeating: "c", count: 3000)]], "d": []]
        for format in [PropertyListDecoder.PropertyListFormat.xml, .binary] {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let data = try encoder.encode(value)
            #expect(try decode([String: [[String: [String]]]].self, data) == value)
        }
    }
}

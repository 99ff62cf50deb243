package import FoundationEssentials

extension DataDecoder {
    /// Decodes a value from bytes that a server has sent.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for a property list beyond ``PropertyListLimits``;
    ///   what ``decode(_:from:)`` throws.
    package func decodeReceived<Value: Decodable>(
        _ type: Value.Type, from data: Data
    ) throws -> Value {
        if Self.self is PropertyListDecoder.Type { try PropertyListLimits.check(data) }
        return try decode(type, from: data)
    }
}

/// The limits of property lists from servers.
///
/// Foundation has none: a deeply nested list overflows the stack, and a binary one, which may refer
/// to an object many times, may contain itself, or stand for more values than fit into memory.
enum PropertyListLimits {
    /// How deep arrays and dictionaries may be nested, as in JSON.
    static let maximumDepth = 512

    /// Checks a property list in any format; one that is not valid may pass.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for a list that is nested too deep, or repeats too much.
    static func check(_ data: Data) throws(DecodingError) {
        let fault = data.withUnsafeBytes { bytes -> String? in
            if bytes.starts(with: "bplist".utf8) {
                var list = BinaryPropertyList(bytes)
                return list?.fault
            }
            return TextPropertyList.readings(of: bytes).lazy.compactMap(\.fault).first
        }
        guard let fault else { return }
        throw .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: fault))
    }

    static let isTooDeep =
        "the property list is nested deeper than \(maximumDepth) levels"
}

/// A property list in XML, or in the older format of braces and parentheses.
private struct TextPropertyList {
    /// The text, in which bytes outside of ASCII stand for any other characters.
    private let text: [UInt8]

    private typealias Encoding = (mark: [UInt8], size: Int, isLittle: Bool)

    /// The encodings that have a byte order mark, except UTF-8.
    ///
    /// Foundation reads UTF-32 in little endian after a mark with its first two bytes swapped, and
    /// UTF-16 after the right one.
    private static let encodings: [Encoding] = [
        ([0, 0, 0xFE, 0xFF], 4, false), ([0xFF, 0xFE, 0, 0], 4, true),
        ([0xFE, 0xFF, 0, 0], 4, true), ([0xFE, 0xFF], 2, false), ([0xFF, 0xFE], 2, true),
    ]

    /// The text in each encoding whose byte order mark the bytes begin with, because two of the
    /// marks begin with another one; in UTF-8 if there is no such mark.
    ///
    /// Foundation fails for other encodings that the XML declares.
    static func readings(of bytes: UnsafeRawBufferPointer) -> [Self] {
        let texts = encodings.filter { bytes.starts(with: $0.mark) }.map { Self(bytes, $0) }
        return texts.isEmpty ? [Self(text: Array(bytes))] : texts
    }

    private init(text: [UInt8]) { self.text = text }

    private init(_ bytes: UnsafeRawBufferPointer, _ encoding: Encoding) {
        let units = bytes.dropFirst(encoding.mark.count)
        let starts = stride(
            from: units.startIndex, through: units.endIndex - encoding.size, by: encoding.size)
        text = starts.map { start in
            let unit = units[start..<(start + encoding.size)]
            let (low, high) =
                encoding.isLittle
                ? (unit.first, unit.dropFirst()) : (unit.last, unit.dropLast())
            return high.allSatisfy { $0 == 0 } ? min(low ?? 0, 0x80) : 0x80
        }
    }

    /// What is wrong; `nil` if the list is within the limits.
    var fault: String? {
        if let faultOfXML { return faultOfXML }
        let first = text.first { $0 > 0x20 && ![0xEF, 0xBB, 0xBF].contains($0) }
        return first == UInt8(ascii: "<") ? nil : faultOfOldFormat
    }

    /// Follows the tags as Foundation's parser does, which fails at the first one out of place.
    private var faultOfXML: String? {
        var rest = text[...]
        var depth = 0
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[(start + 1)...]
            if rest.starts(with: "!--".utf8) {
                skip(&rest, past: "-->", from: 3)
            } else if rest.starts(with: "![CDATA[".utf8) {
                skip(&rest, past: "]]>", from: 8)
            } else if rest.first == UInt8(ascii: "?") {
                skip(&rest, past: "?>", from: 0)
            } else if rest.first == UInt8(ascii: "/") {
                if isContainer(rest.dropFirst()) { depth = max(0, depth - 1) }
            } else {
                let isContainer = isContainer(rest)
                skip(&rest, past: ">", from: 0)
                let isEmpty = rest.startIndex > 1 && text[rest.startIndex - 2] == UInt8(ascii: "/")
                guard isContainer, !isEmpty else { continue }
                depth += 1
                // The root, `plist`, is no level.
                if depth > PropertyListLimits.maximumDepth + 1 {
                    return PropertyListLimits.isTooDeep
                }
            }
        }
        return nil
    }

    private func skip(_ rest: inout ArraySlice<UInt8>, past end: String, from offset: Int) {
        rest = rest.dropFirst(offset)
        rest = rest[(rest.firstRange(of: Array(end.utf8))?.upperBound ?? rest.endIndex)...]
    }

    private func isContainer(_ tag: ArraySlice<UInt8>) -> Bool {
        tag.starts(with: "array".utf8) || tag.starts(with: "dict".utf8)
            || tag.starts(with: "plist".utf8)
    }

    /// Counts what may begin an array or dictionary, because servers hardly use this format.
    private var faultOfOldFormat: String? {
        let count = text.count { $0 == UInt8(ascii: "(") || $0 == UInt8(ascii: "{") }
        guard count > PropertyListLimits.maximumDepth else { return nil }
        return "the property list is neither XML nor binary, and has more than "
            + "\(PropertyListLimits.maximumDepth) arrays and dictionaries"
    }
}

/// The objects of a binary property list: a table of offsets, through which arrays and dictionaries
/// refer to their elements.
private struct BinaryPropertyList {
    private let bytes: UnsafeRawBufferPointer
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private let root: Int
    private let table: Int
    /// The levels below each object that has been followed, and how many values it stands for.
    private var known: [Int: (depth: Int, values: Int)] = [:]
    /// The references that have been followed.
    private var followed = 0

    /// Reads the trailer, the last 32 bytes; `nil` if it is not valid.
    init?(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        let trailer = bytes.count - 32
        guard trailer > 0, let count = Self.number(bytes, at: trailer + 8, size: 8),
            let root = Self.number(bytes, at: trailer + 16, size: 8),
            let table = Self.number(bytes, at: trailer + 24, size: 8)
        else { return nil }
        (self.count, self.root, self.table) = (count, root, table)
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
    }

    /// What is wrong; `nil` if the list is within the limits.
    var fault: String? {
        mutating get {
            do throws(Fault) {
                // A list without shared objects has fewer values than bytes.
                let limit = 16 * max(bytes.count, 4096)
                return try follow(root, level: 0).values > limit ? Fault.repeats.rawValue : nil
            } catch {
                return error.rawValue
            }
        }
    }

    private enum Fault: String, Error {
        case isTooDeep = "the property list is nested deeper than 512 levels"
        case repeats = "the property list repeats its values too often"
        case isOutside = "the property list has a value that is longer than the list"
    }

    /// Follows the references of an object, at most once.
    ///
    /// - Parameter level: The number of containers around it.
    private mutating func follow(
        _ object: Int, level: Int
    ) throws(Fault) -> (depth: Int, values: Int) {
        let limit = PropertyListLimits.maximumDepth
        if let known = known[object] {
            guard level + known.depth <= limit else { throw .isTooDeep }
            return known
        }
        guard let references = try references(of: object) else { return (0, 1) }
        guard level < limit else { throw .isTooDeep }
        // Also if containers overlap, so that there are more references than bytes.
        followed += references.count
        guard followed <= bytes.count else { throw .repeats }
        // An object that refers to itself has no end.
        known[object] = (limit + 1, 0)
        var (depth, values) = (1, 1)
        for place in references {
            guard let element = Self.number(bytes, at: place, size: referenceSize) else { continue }
            let inner = try follow(element, level: level + 1)
            depth = max(depth, inner.depth + 1)
            values =
                values.addingReportingOverflow(inner.values).overflow
                ? .max : values + inner.values
        }
        known[object] = (depth, values)
        return (depth, values)
    }

    /// The places of the references of an array, set or dictionary; `nil` for other objects.
    ///
    /// Fails for an object that is longer than the list, also data and text: Foundation computes the
    /// length in bytes without a check for overflow.
    private func references(of object: Int) throws(Fault) -> [Int]? {
        guard object < count, let place = multiply(object, offsetSize),
            let entry = add(table, place),
            let offset = Self.number(bytes, at: entry, size: offsetSize), offset < bytes.count
        else { return nil }
        let kind = bytes[offset] & 0xF0
        let (size, references): (Int, Int)
        switch kind {
        case 0x40, 0x50, 0x70: (size, references) = (1, 0)
        case 0x60: (size, references) = (2, 0)
        case 0xA0, 0xC0: (size, references) = (referenceSize, 1)
        case 0xD0: (size, references) = (2 * referenceSize, 2)
        default: return nil
        }
        var start = offset + 1
        var length = Int(bytes[offset] & 0x0F)
        if length == 0x0F {
            // A longer one is followed by an integer: `0x1n` and 2ⁿ bytes.
            guard start < bytes.count, bytes[start] & 0xF0 == 0x10 else { throw .isOutside }
            let size = 1 << Int(bytes[start] & 0x0F)
            guard let long = Self.number(bytes, at: start + 1, size: size) else {
                throw .isOutside
            }
            start += 1 + size
            length = long
        }
        guard size > 0, length <= (bytes.count - start) / size else { throw .isOutside }
        guard references > 0 else { return nil }
        return (0..<(length * references)).map { start + $0 * referenceSize }
    }

    private func multiply(_ a: Int, _ b: Int) -> Int? {
        let (product, overflow) = a.multipliedReportingOverflow(by: b)
        return overflow ? nil : product
    }

    private func add(_ a: Int, _ b: Int) -> Int? {
        let (sum, overflow) = a.addingReportingOverflow(b)
        return overflow ? nil : sum
    }

    /// Reads an integer, of which Foundation uses the last eight bytes.
    private static func number(_ bytes: UnsafeRawBufferPointer, at offset: Int, size: Int) -> Int? {
        guard size > 0, offset >= 0, offset <= bytes.count - size else { return nil }
        let value = bytes[offset..<(offset + size)].suffix(8).reduce(UInt64(0)) {
            $0 << 8 | UInt64($1)
        }
        return Int(exactly: value)
    }
}

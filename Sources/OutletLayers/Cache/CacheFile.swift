import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The file format of a stored response.
///
/// A file contains the magic number, the lengths of head and body, a checksum of both, the head as
/// JSON, and the body. Damaged files, and those of another version, are not decoded.
enum CacheFile {
    private static let magic: UInt64 = 0x4F75_746C_6574_4333  // "OutletC3"
    private static let prefixSize = 32

    private struct Head: Codable {
        var key: String
        var url: URL?
        var status: Int
        var version: String
        /// For each field its name and its value; third the value in Base64 if it is not UTF-8.
        var fields: [[String]]
        var requestTime: Double
        var responseTime: Double
        var selectors: [CacheEntry.Selector]
        var userInfo: [String: String]?
    }

    static func encode(_ entry: CacheEntry, key: String) -> Data? {
        let head = Head(
            key: key, url: entry.response.url?.withoutUserInfo, status: entry.response.statusCode,
            version: entry.response.httpVersion,
            fields: entry.response.headers.map {
                [$0.name, $0.value]
                    + ($0.isLatin1 ? [Data($0.valueBytes).base64EncodedString()] : [])
            },
            requestTime: entry.requestTime.timeIntervalSince1970,
            responseTime: entry.responseTime.timeIntervalSince1970, selectors: entry.selectors,
            userInfo: entry.userInfo)
        guard let json = try? JSONEncoder().encode(head) else { return nil }
        var data = Data(capacity: prefixSize + json.count + entry.data.count)
        for number in [
            magic, UInt64(json.count), UInt64(entry.data.count), checksum(json, entry.data),
        ] {
            withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
        }
        return data + json + entry.data
    }

    /// Returns the entry of a file; `nil` if the file is damaged or belongs to another key.
    static func decode(_ data: Data, key: String) -> CacheEntry? {
        guard data.count >= prefixSize, number(0, data) == magic else { return nil }
        let (headSize, bodySize) = (number(1, data), number(2, data))
        let rest = UInt64(data.count - prefixSize)
        guard headSize <= rest, bodySize == rest - headSize else { return nil }
        let json = data.dropFirst(prefixSize).prefix(Int(headSize))
        let body = Data(data.suffix(Int(bodySize)))
        guard checksum(json, body) == number(3, data),
            let head = try? JSONDecoder().decode(Head.self, from: Data(json)), head.key == key
        else { return nil }
        var headers = HTTPHeaders()
        for field in head.fields where field.count >= 2 {
            let bytes = field.count > 2 ? Data(base64Encoded: field[2]) : nil
            headers.append(
                bytes.map { HTTPHeader(name: field[0], valueBytes: $0) }
                    ?? HTTPHeader(name: field[0], value: field[1]))
        }
        return CacheEntry(
            response: HTTPResponse(
                url: head.url, statusCode: head.status, httpVersion: head.version, headers: headers),
            data: body, requestTime: Date(timeIntervalSince1970: head.requestTime),
            responseTime: Date(timeIntervalSince1970: head.responseTime),
            selectors: head.selectors, userInfo: head.userInfo, storagePolicy: .allowed)
    }

    /// Returns the name of a key's file.
    ///
    /// The name consists of two independent hashes, so that collisions are very unlikely. The file
    /// contains the key, which is compared in any case.
    static func name(of key: String) -> String {
        var text = key
        return text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return hex(hash(bytes, seed: 0x9E37_79B9_7F4A_7C15))
                + hex(hash(bytes, seed: 0xC2B2_AE3D_27D4_EB4F))
        }
    }

    /// Returns the suffix that distinguishes the responses of one URL.
    static func variant(_ selectors: [CacheEntry.Selector]) -> String {
        let text = selectors.map { "\($0.name)=\($0.value ?? "\u{1}")" }.joined(separator: "\n")
        return String(name(of: text).prefix(16))
    }

    private static func hex(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }

    private static func number(_ index: Int, _ data: Data) -> UInt64 {
        data.withUnsafeBytes {
            UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
        }
    }

    private static func checksum(_ head: Data, _ body: Data) -> UInt64 {
        let first = head.withUnsafeBytes { hash($0, seed: magic) }
        return body.withUnsafeBytes { hash($0, seed: first) }
    }

    /// Not cryptographic: detects accidental damage only, because an attacker could write the file
    /// anyway.
    private static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var state = seed ^ UInt64(bytes.count)
        func mix(_ word: UInt64) {
            let product = (state ^ word).multipliedFullWidth(by: 0x9FB2_1C65_1E98_DF25)
            state = product.high ^ product.low &+ 0x2545_F491_4F6C_DD1D
        }
        var index = 0
        while index &+ 8 <= bytes.count {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
            index &+= 8
        }
        var last: UInt64 = 0
        while index < bytes.count {
            last = last << 8 | UInt64(bytes[index])
            index &+= 1
        }
        mix(last)
        mix(UInt64(bytes.count))
        return state
    }
}

package import FoundationEssentials
import OutletCompression
package import OutletHTTP

extension HAR {
    /// Returns a key that identifies the body of a request: its length and checksum (FNV-1a),
    /// without its content codings and after redaction.
    ///
    /// The key does not depend on the boundary of a multipart body, because that is random, nor on the
    /// order of the members of JSON objects, because dictionaries have none. All bodies that are
    /// redacted as a whole have the same key: others would let secrets be guessed.
    ///
    /// - Parameters:
    ///   - body: The body as sent.
    ///   - headers: The header fields of the request.
    ///   - redaction: The rules of the archive.
    package static func bodyKey(
        of body: Data, _ headers: HTTPHeaders, _ redaction: Redaction
    ) -> String {
        let contentType = headers["Content-Type"]
        let plain = decoded(body, headers.values(for: "Content-Encoding")) ?? body
        var bytes = Data(redaction.bodyBytes(plain, contentType: contentType))
        if let boundary = boundary(contentType) {
            let pieces = bytes.split(separator: Data(boundary.utf8))
            bytes = Data(pieces.joined(separator: Data("boundary".utf8)))
        } else if let value = try? JSONValue(parsing: bytes) {
            bytes = sorted(value).serialized()
        }
        let sum = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { sum, byte in
            (sum ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return "\(bytes.count):\(String(sum, radix: 16))"
    }

    /// The largest size of a body that is decoded for its key, in bytes.
    private static let largestDecoded = 16 << 20

    /// Undoes the content codings of a body; `nil` if they are unknown or broken, or the result is
    /// larger than ``largestDecoded``.
    private static func decoded(_ body: Data, _ codings: [String]) -> Data? {
        guard let decoder = try? ContentDecoder.make(codings) else { return nil }
        return body.withUnsafeBytes { bytes in
            var input = bytes
            var plain = Data()
            while plain.count <= largestDecoded, decoder.passed <= largestDecoded {
                switch try? decoder.decode(&input) {
                case .piece(let piece): plain.append(contentsOf: piece)
                case .passed: continue
                case .consumed: return decoder.isAtEnd ? plain : nil
                case nil: return nil
                }
            }
            return nil
        }
    }

    /// Returns a value with the members of its objects in the order of their names.
    private static func sorted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map(sorted))
        case .object(let object):
            .object(
                JSONObject(
                    object.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
                        .map { ($0.name, sorted($0.value)) }))
        case .string, .null, .bool, .number: value
        }
    }

    private static func boundary(_ contentType: String?) -> String? {
        guard let contentType, contentType.startsIgnoringCase(with: "multipart/") else {
            return nil
        }
        let boundary = contentType.listItems(separatedBy: ";").lazy
            .map { item in
                var scanner = ByteScanner(item)
                return scanner.readParameter()
            }.first { $0.name.equalsIgnoringCase("boundary") }?.value
        return boundary?.isEmpty == false ? boundary : nil
    }
}

import CCurl
import Glibc
import OutletHTTP

/// The header fields of a request in libcurl's form (`CURLOPT_HTTPHEADER`): list nodes and texts
/// in one piece of memory that the next request uses again.
struct HeaderList: ~Copyable {
    private var texts: UnsafeMutablePointer<CChar>?
    private var textCapacity = 0
    private var nodes: UnsafeMutablePointer<curl_slist>?
    private var nodeCapacity = 0

    deinit {
        free(texts)
        free(nodes)
    }

    /// Fields that libcurl would invent, and their names' lengths; a name without a value
    /// suppresses them.
    private static let suppressed = ["Accept:", "Expect:", "Content-Type:"]

    /// What the fields say about things that libcurl does itself.
    struct Facts {
        /// The field `Accept-Encoding` asks for more than `identity`.
        var acceptsCodings = false
        /// The field `Content-Length`, as written.
        var contentLength: String?
    }

    /// Lays out the fields in their order.
    ///
    /// - Returns: The list's head, valid until the next call, and what was found in the fields;
    ///   `nil` when a name or a value cannot go on the wire, or memory is short.
    mutating func build(_ headers: HTTPHeaders) -> (UnsafeMutablePointer<curl_slist>, Facts)? {
        var facts = Facts()
        var suppress = (accept: true, expect: true, contentType: true)
        var used = 0
        var count = 0
        guard reserveNodes(headers.count + Self.suppressed.count) else { return nil }
        for field in headers {
            var name = field.name
            var value = field.value
            let size = name.utf8.count + value.utf8.count + 3
            guard reserveTexts(used + size), let texts, let nodes else { return nil }
            let start = texts + used
            let isFine = name.withUTF8 { name in
                value.withUTF8 { value in Self.write(name, value, to: start) }
            }
            guard isFine else { return nil }
            // The texts may still move: offsets first, pointers when all are there.
            nodes[count].data = UnsafeMutablePointer(bitPattern: used + 1)
            count += 1
            used += size
            switch name.utf8.count {
            case 6:
                if name.isASCIICaseInsensitively("accept") { suppress.accept = false }
                if name.isASCIICaseInsensitively("expect") { suppress.expect = false }
            case 12:
                if name.isASCIICaseInsensitively("content-type") { suppress.contentType = false }
            case 14:
                if name.isASCIICaseInsensitively("content-length") { facts.contentLength = value }
            case 15:
                if name.isASCIICaseInsensitively("accept-encoding") {
                    facts.acceptsCodings =
                        !value.isEmpty && !value.isASCIICaseInsensitively("identity")
                }
            default: break
            }
        }
        for (index, text) in Self.suppressed.enumerated() {
            let wanted =
                index == 0 ? suppress.accept : index == 1 ? suppress.expect : suppress.contentType
            guard wanted else { continue }
            let size = text.utf8.count + 1
            guard reserveTexts(used + size), let texts, let nodes else { return nil }
            text.withCString { _ = memcpy(texts + used, $0, size) }
            nodes[count].data = UnsafeMutablePointer(bitPattern: used + 1)
            count += 1
            used += size
        }
        return link(count).map { ($0, facts) }
    }

    private func link(_ count: Int) -> UnsafeMutablePointer<curl_slist>? {
        guard let nodes, let texts, count > 0 else { return nil }
        for index in 0..<count {
            nodes[index].data = texts + (Int(bitPattern: nodes[index].data) - 1)
            nodes[index].next = index + 1 < count ? nodes + index + 1 : nil
        }
        return nodes
    }

    /// Writes `Name: value`, or `Name;` for a field without a value, which libcurl sends as `Name:`.
    ///
    /// - Returns: False for what would break the line (RFC 9110 §5.5, §5.6.2).
    private static func write(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>,
        to start: UnsafeMutablePointer<CChar>
    ) -> Bool {
        guard !name.isEmpty else { return false }
        var target = start
        for byte in name {
            guard isTokenByte(byte) else { return false }
            target.pointee = CChar(bitPattern: byte)
            target += 1
        }
        var isBlank = true
        for byte in value where byte != 0x20 && byte != 0x09 {
            isBlank = false
            guard byte != 0x0D, byte != 0x0A, byte != 0 else { return false }
        }
        if isBlank {
            target[0] = CChar(UInt8(ascii: ";"))
            target[1] = 0
            return true
        }
        target[0] = CChar(UInt8(ascii: ":"))
        target[1] = CChar(UInt8(ascii: " "))
        if let text = value.baseAddress { memcpy(target + 2, text, value.count) }
        target[2 + value.count] = 0
        return true
    }

    private mutating func reserveTexts(_ size: Int) -> Bool {
        guard size > textCapacity else { return true }
        let capacity = max(size, textCapacity * 2, 512)
        guard let grown = realloc(texts, capacity) else { return false }
        texts = grown.assumingMemoryBound(to: CChar.self)
        textCapacity = capacity
        return true
    }

    private mutating func reserveNodes(_ count: Int) -> Bool {
        guard count > nodeCapacity else { return true }
        let capacity = max(count, 16)
        guard let grown = realloc(nodes, capacity * MemoryLayout<curl_slist>.stride) else {
            return false
        }
        nodes = grown.assumingMemoryBound(to: curl_slist.self)
        nodeCapacity = capacity
        return true
    }
}

/// Whether a token may hold the byte (RFC 9110 §5.6.2): one bit for each of the 128 characters.
func isTokenByte(_ byte: UInt8) -> Bool {
    let bits: UInt64 = byte < 64 ? 0x3FF6CFA00000000 : 0x57FFFFFFC7FFFFFE
    return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
}

extension String {
    /// Compares with a lower-case ASCII text of the same length.
    fileprivate func isASCIICaseInsensitively(_ lowercase: String) -> Bool {
        utf8.elementsEqual(lowercase.utf8) { a, b in
            (a >= 0x41 && a <= 0x5A ? a | 0x20 : a) == b
        }
    }
}

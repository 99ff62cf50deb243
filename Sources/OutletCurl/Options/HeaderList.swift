import CCurl
import Glibc
import OutletHTTP

/// The header fields of a request in libcurl's form (`CURLOPT_HTTPHEADER`).
///
/// The list nodes share one block of memory and the texts another one. Both are reused by the next
/// request. A field whose name libcurl never searches for is appended to the list entry before it,
/// after CRLF, because libcurl formats each entry separately: that saves 3 % of a request's
/// instructions (`Benchmarks/count transport session-defaults`).
struct HeaderList: ~Copyable {
    private var texts: UnsafeMutablePointer<CChar>?
    private var textCapacity = 0
    private var nodes: UnsafeMutablePointer<curl_slist>?
    private var nodeCapacity = 0
    /// The number of bytes of `texts` in use, and below that of elements of `nodes`.
    private var used = 0
    private var count = 0
    /// Whether further fields may be appended to the last entry.
    private var isOpen = false
    /// The fields that the list holds.
    ///
    /// Keeping a reference makes a mutation copy their storage, so comparing the storage tells
    /// whether the next request has the same fields.
    private var fields: HTTPHeaders?
    private var hasBody = false
    /// What the fields say about features that libcurl handles itself.
    private(set) var facts = Facts()

    deinit {
        free(texts)
        free(nodes)
    }

    /// Values of the fields that affect features which libcurl handles itself.
    struct Facts {
        /// Whether the field `Accept-Encoding` lists anything but `identity`.
        var acceptsCodings = false
        /// The value of the field `Content-Length` as written; `nil` if there is none.
        var contentLength: String?
        /// The fields that are present among those that libcurl adds by itself.
        fileprivate var has: Invented = []
    }

    /// Fields that libcurl adds by itself unless the list has them.
    fileprivate struct Invented: OptionSet {
        let rawValue: UInt8
        static let accept = Invented(rawValue: 1)
        static let expect = Invented(rawValue: 2)
        static let contentType = Invented(rawValue: 4)
    }

    /// Builds the list, with the fields in their order.
    ///
    /// - Parameters:
    ///   - headers: Fields that have passed `HTTPRequest.checkSyntax()`.
    ///   - hasBody: Whether libcurl might add fields about a body.
    /// - Returns: The list's head, valid until the next call; `nil` if memory cannot be allocated.
    mutating func build(
        _ headers: HTTPHeaders, hasBody: Bool
    ) -> UnsafeMutablePointer<curl_slist>? {
        // Most requests of a session have the same fields as the previous one. Reusing the list
        // saves 4 % of a transfer's instructions (Benchmarks/count transport).
        if self.hasBody == hasBody, fields?.isSame(as: headers) == true { return nodes }
        fields = nil
        facts = Facts()
        used = 0
        count = 0
        isOpen = false
        guard reserveNodes(headers.count + 3) else { return nil }
        var isFine = true
        headers.forEachField { name, value, isLatin1 in
            isFine = isLatin1 ? add(name, value.latin1Bytes) : add(name, value.utf8)
            Self.look(name, value, &facts)
            return isFine
        }
        guard isFine else { return nil }
        // A name without a value stops libcurl from adding the field.
        if !facts.has.contains(.accept), !addLine("Accept:") { return nil }
        if hasBody {
            if !facts.has.contains(.expect), !addLine("Expect:") { return nil }
            if !facts.has.contains(.contentType), !addLine("Content-Type:") { return nil }
        }
        guard let first = link() else { return nil }
        fields = headers
        self.hasBody = hasBody
        return first
    }

    /// Records in `facts` what a field says about features that libcurl handles itself.
    private static func look(_ name: String, _ value: String, _ facts: inout Facts) {
        guard let first = name.utf8.first.map({ $0 | 0x20 }),
            first == UInt8(ascii: "a") || first == UInt8(ascii: "c") || first == UInt8(ascii: "e")
        else { return }
        switch name.utf8.count {
        case 6:
            if name.isASCII("accept") { facts.has.insert(.accept) }
            if name.isASCII("expect") { facts.has.insert(.expect) }
        case 12:
            if name.isASCII("content-type") { facts.has.insert(.contentType) }
        case 14:
            if name.isASCII("content-length") { facts.contentLength = value }
        case 15:
            if name.isASCII("accept-encoding") {
                facts.acceptsCodings = !value.isEmpty && !value.isASCII("identity")
            }
        default: break
        }
    }

    /// Adds `Name: value`, or `Name;` for a field without a value, which libcurl sends as `Name:`.
    ///
    /// - Returns: False if memory cannot be allocated.
    private mutating func add(_ name: String, _ value: some Sequence<UInt8>) -> Bool {
        name.utf8.withContiguousStorageIfAvailable { name in
            value.withContiguousStorageIfAvailable { value in
                guard reserveTexts(used + name.count + value.count + 4), let texts,
                    let nameText = name.baseAddress
                else { return false }
                let use = Self.use(of: name)
                let isJoined = isOpen && use == .none
                var target = texts + used
                if isJoined {
                    target[-1] = CChar(UInt8(ascii: "\r"))
                    target[0] = CChar(UInt8(ascii: "\n"))
                    target += 1
                }
                memcpy(target, nameText, name.count)
                target += name.count
                isOpen = use != .omits
                if value.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
                    target[0] = CChar(UInt8(ascii: isJoined ? ":" : ";"))
                    target += 1
                    // In an entry `Name;`, libcurl expects nothing after the semicolon.
                    isOpen = isJoined
                } else if let text = value.baseAddress {
                    target[0] = CChar(UInt8(ascii: ":"))
                    target[1] = CChar(UInt8(ascii: " "))
                    memcpy(target + 2, text, value.count)
                    target += 2 + value.count
                }
                target.pointee = 0
                if isJoined { used = target - texts + 1 } else { finishLine(target) }
                return true
            } ?? false
        } ?? false
    }

    /// How libcurl treats a field of the list (`Curl_checkheaders`, `Curl_add_custom_headers`).
    private enum Use {
        /// It sends the field.
        case none
        /// It also searches for the field, at the start of entries.
        case finds
        /// It also leaves out the whole entry under some conditions.
        case omits
    }

    private static func use(of name: UnsafeBufferPointer<UInt8>) -> Use {
        func isOne(of names: [StaticString]) -> Bool {
            names.contains { other in
                guard name.count == other.utf8CodeUnitCount, let text = name.baseAddress else {
                    return false
                }
                return strncasecmp(text, other.utf8Start, name.count) == 0
            }
        }
        if isOne(of: ["accept", "authorization", "cookie"]) { return .finds }
        let omitted: [StaticString] = [
            "connection", "content-length", "content-range", "content-type", "expect", "host",
            "http2-settings", "if-modified-since", "if-unmodified-since", "last-modified",
            "proxy-authorization", "proxy-connection", "range", "referer", "te", "trailer",
            "transfer-encoding", "upgrade",
        ]
        return isOne(of: omitted) ? .omits : .none
    }

    /// Adds a constant line unchanged.
    ///
    /// - Returns: False if memory cannot be allocated.
    private mutating func addLine(_ line: StaticString) -> Bool {
        guard reserveTexts(used + line.utf8CodeUnitCount + 1), let texts else { return false }
        memcpy(texts + used, line.utf8Start, line.utf8CodeUnitCount)
        let end = texts + used + line.utf8CodeUnitCount
        end.pointee = 0
        isOpen = false
        finishLine(end)
        return true
    }

    private mutating func finishLine(_ end: UnsafeMutablePointer<CChar>) {
        guard let texts, let nodes else { return }
        // `realloc` may still move the texts, so this stores offsets (plus 1, because 0 is nil).
        // ``link()`` turns them into pointers.
        nodes[count].data = UnsafeMutablePointer(bitPattern: used + 1)
        count += 1
        used = end - texts + 1
    }

    private func link() -> UnsafeMutablePointer<curl_slist>? {
        guard let nodes, let texts, count > 0 else { return nil }
        for index in 0..<count {
            nodes[index].data = texts + (Int(bitPattern: nodes[index].data) - 1)
            nodes[index].next = index + 1 < count ? nodes + index + 1 : nil
        }
        return nodes
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

extension String {
    /// Whether the text is `lowercase` (ASCII), case ignored.
    fileprivate func isASCII(_ lowercase: StaticString) -> Bool {
        utf8.withContiguousStorageIfAvailable { text in
            guard text.count == lowercase.utf8CodeUnitCount, let bytes = text.baseAddress else {
                return false
            }
            return strncasecmp(bytes, lowercase.utf8Start, text.count) == 0
        } ?? false
    }
}

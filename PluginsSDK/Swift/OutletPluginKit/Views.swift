import COutletPlugin

extension outlet_view {
    /// The bytes, not copied.
    var buffer: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: ptr, count: ptr == nil ? 0 : Int(clamping: len))
    }

    /// A copy as text; bytes that are not UTF-8 are replaced by U+FFFD.
    var string: String { String(decoding: buffer, as: UTF8.self) }

    /// A copy of a header's value as text: UTF-8, or Latin-1 if the bytes are not UTF-8.
    var fieldText: String {
        if let text = String(validating: buffer, as: UTF8.self) { return text }
        var scalars = String.UnicodeScalarView()
        for byte in buffer { scalars.append(Unicode.Scalar(byte)) }
        return String(scalars)
    }

    /// A copy of the bytes.
    var bytes: [UInt8] { Array(buffer) }

    /// Makes a view of a buffer, which must outlive the view.
    init(_ buffer: UnsafeBufferPointer<UInt8>) {
        self.init(ptr: buffer.baseAddress, len: UInt64(buffer.count))
    }

    /// Makes a view of a copy of a text that is never freed.
    init(keeping text: String) {
        guard !text.isEmpty else {
            self.init(ptr: nil, len: 0)
            return
        }
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
        _ = copy.initialize(from: text.utf8)
        self.init(UnsafeBufferPointer(copy))
    }
}

extension String {
    /// Returns the text, cut off after at most `count` bytes, between characters.
    func start(ofUTF8 count: Int) -> String {
        guard utf8.count > count else { return self }
        var end = utf8.index(startIndex, offsetBy: count)
        while end.samePosition(in: self) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}

/// Calls `body` with a view of a text, valid until it returns.
func withView<Result>(_ text: String, _ body: (outlet_view) -> Result) -> Result {
    var text = text
    return text.withUTF8 { body(outlet_view($0)) }
}

/// Calls `body` with a view of bytes, valid until it returns.
func withView<Result>(_ bytes: [UInt8], _ body: (outlet_view) -> Result) -> Result {
    bytes.withUnsafeBufferPointer { body(outlet_view($0)) }
}

/// Calls `body` with an array of C fields, valid until it returns.
func withFields<Result>(
    _ headers: [(name: String, value: String)],
    _ body: (UnsafePointer<outlet_field>?, UInt64) -> Result
) -> Result {
    var bytes: [UInt8] = []
    for header in headers {
        bytes.append(contentsOf: header.name.utf8)
        bytes.append(contentsOf: header.value.utf8)
    }
    return bytes.withUnsafeBufferPointer { storage in
        var offset = 0
        func take(_ count: Int) -> outlet_view {
            defer { offset += count }
            return outlet_view(UnsafeBufferPointer(rebasing: storage[offset..<offset + count]))
        }
        let fields = headers.map { header in
            outlet_field(name: take(header.name.utf8.count), value: take(header.value.utf8.count))
        }
        return fields.withUnsafeBufferPointer { body($0.baseAddress, UInt64($0.count)) }
    }
}

/// Returns all fields that a list function of the host returns.
func readFields(
    _ read: (UnsafeMutablePointer<outlet_field>?, UInt64, UnsafeMutablePointer<UInt64>)
        -> outlet_status
) -> [(name: String, value: String)] {
    var count: UInt64 = 0
    guard read(nil, 0, &count) == OUTLET_OK, count > 0 else { return [] }
    let capacity = Int(clamping: count)
    return withUnsafeTemporaryAllocation(of: outlet_field.self, capacity: capacity) { fields in
        guard let base = fields.baseAddress, read(base, UInt64(capacity), &count) == OUTLET_OK
        else { return [] }
        return fields.prefix(min(capacity, Int(clamping: count))).map {
            (name: $0.name.string, value: $0.value.fieldText)
        }
    }
}

import FoundationEssentials

extension HTTPResponse {
    /// A file name for the body that is safe to append to a directory.
    ///
    /// It is the first of these that leaves a valid name: `filename*`, then `filename` of
    /// `Content-Disposition` (RFC 6266); the URL's last path component; the URL's host; `Unknown`.
    /// It never contains a directory, a control character or a leading dot, and is 1 to 255 bytes
    /// long.
    public var suggestedFilename: String {
        let disposition = headers.value(for: "Content-Disposition").map(Disposition.init)
        let candidates = [
            disposition?.extendedName, disposition?.name, url?.lastPathComponent, url?.host(),
        ]
        return candidates.lazy.compactMap { $0.flatMap(safeFilename) }.first ?? "Unknown"
    }
}

/// Removes directories, control and invisible characters, and leading and trailing dots and spaces
/// from a name.
///
/// - Returns: One path component of at most 255 bytes, without a leading dot; `nil` if nothing is
///   left.
func safeFilename(_ name: String) -> String? {
    // First, because an invisible scalar before a leading dot would protect it from trimming.
    let visible = name.unicodeScalars.filter { scalar in
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        default: !scalar.properties.isDefaultIgnorableCodePoint
        }
    }
    let text = String(String.UnicodeScalarView(visible))
    let parts = text.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    guard let last = parts.last else { return nil }
    let component = trimmed(shortened(trimmed(Substring(last)), to: 255))
    return isPathComponent(component) ? String(component) : nil
}

/// Removes the dots and spaces at both ends.
private func trimmed(_ name: Substring) -> Substring {
    let isPadding: (UInt8) -> Bool = { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: " ") }
    var bytes = name.utf8.drop(while: isPadding)
    while let last = bytes.last, isPadding(last) { bytes.removeLast() }
    return Substring(bytes)
}

/// Shortens a name to a number of bytes, at a character boundary, and keeps its extension unless
/// that is half of the limit or longer.
private func shortened(_ name: Substring, to limit: Int) -> Substring {
    guard name.utf8.count > limit else { return name }
    guard let (stem, suffix) = name.cutAtLast("."), suffix.utf8.count < limit / 2 else {
        return name.prefix(bytes: limit)
    }
    return "\(stem.prefix(bytes: limit - suffix.utf8.count - 1)).\(suffix)"
}

/// Whether a text is a single path component of at most 255 bytes without a leading dot.
private func isPathComponent(_ name: Substring) -> Bool {
    guard let first = name.utf8.first, first != UInt8(ascii: "."), name.utf8.count <= 255 else {
        return false
    }
    return !name.utf8.contains { $0.isControl || $0 == UInt8(ascii: "/") }
}

/// The names in a `Content-Disposition` field (RFC 6266 §4).
private struct Disposition {
    /// The value of `filename`.
    private(set) var name: String?
    /// The decoded value of `filename*` (RFC 8187).
    private(set) var extendedName: String?

    init(_ field: String) {
        for item in field.listItems(separatedBy: ";").dropFirst() {
            var scanner = ByteScanner(item)
            let (key, value) = scanner.readParameter()
            guard let value else { continue }
            if key.equalsIgnoringCase("filename") {
                name = name ?? value
            } else if key.equalsIgnoringCase("filename*") {
                extendedName = extendedName ?? Self.decode(value)
            }
        }
    }

    /// Decodes a value such as `UTF-8'en'na%20me`; `nil` for charsets other than UTF-8 and
    /// ISO 8859-1.
    private static func decode(_ value: String) -> String? {
        let parts = value.parts(separatedBy: "'", maxSplits: 2)
        guard parts.count == 3, let bytes = parts[2].percentDecodedBytes else { return nil }
        if parts[0].equalsIgnoringCase("utf-8") {
            return String(validating: bytes, as: UTF8.self)
        }
        guard parts[0].equalsIgnoringCase("iso-8859-1") else { return nil }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

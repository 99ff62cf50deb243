import FoundationEssentials

extension HTTPResponse {
    /// A name to store the body under; safe to append to a directory.
    ///
    /// From `Content-Disposition` (RFC 6266, `filename*` before `filename`), else the address's last
    /// path component, else its host. Never has a directory, a control character or a leading dot,
    /// and is 1 to 255 bytes long.
    public var suggestedFilename: String {
        let disposition = headers.value(for: "Content-Disposition").map(Disposition.init)
        let candidates = [
            disposition?.extendedName, disposition?.name, url?.lastPathComponent, url?.host(),
        ]
        return candidates.lazy.compactMap { $0.flatMap(safeFilename) }.first ?? "Unknown"
    }
}

/// What is left of a name when all that could lead out of a directory is taken away.
func safeFilename(_ name: String) -> String? {
    let last = name.split { $0 == "/" || $0 == "\\" }.last ?? ""
    let visible = last.unicodeScalars.filter { scalar in
        scalar.properties.generalCategory != .control
            && !scalar.properties.isDefaultIgnorableCodePoint
    }
    var text = String(String.UnicodeScalarView(visible))
    text = String(text.drop { $0 == "." || $0 == " " })
    while let end = text.last, end == " " || end == "." { text.removeLast() }
    guard !text.isEmpty else { return nil }
    return shortened(text, to: 255)
}

/// Cuts the stem, not the extension.
private func shortened(_ name: String, to limit: Int) -> String {
    guard name.utf8.count > limit else { return name }
    let dot = name.lastIndex(of: ".") ?? name.endIndex
    let suffix = name[dot...]
    let room = suffix.utf8.count < limit / 2 ? limit - suffix.utf8.count : limit
    var stem = ""
    for character in name[..<(room == limit ? name.endIndex : dot)] {
        guard stem.utf8.count + character.utf8.count <= room else { break }
        stem.append(character)
    }
    return room == limit ? stem : stem + suffix
}

/// The names in a `Content-Disposition` field (RFC 6266 §4).
private struct Disposition {
    /// `filename`.
    private(set) var name: String?
    /// `filename*`, decoded (RFC 8187).
    private(set) var extendedName: String?

    init(_ field: String) {
        for (key, value) in Self.parameters(field) {
            switch key {
            case "filename": name = name ?? value
            case "filename*": extendedName = extendedName ?? Self.decode(value)
            default: break
            }
        }
    }

    /// Splits at semicolons outside of quotes; quoted values lose their quotes and backslashes.
    private static func parameters(_ field: String) -> [(String, String)] {
        var parts = [""]
        var isQuoted = false
        var isEscaped = false
        for character in field {
            if isEscaped {
                isEscaped = false
            } else if character == "\\", isQuoted {
                isEscaped = true
                continue
            } else if character == "\"" {
                isQuoted.toggle()
                continue
            } else if character == ";", !isQuoted {
                parts.append("")
                continue
            }
            parts[parts.count - 1].append(character)
        }
        return parts.dropFirst().compactMap { part in
            guard let equals = part.firstIndex(of: "=") else { return nil }
            let key = part[..<equals].filter { $0 != " " && $0 != "\t" }.lowercased()
            let value = part[part.index(after: equals)...].drop { $0 == " " || $0 == "\t" }
            return (key, String(value))
        }
    }

    /// `UTF-8'en'na%20me`; other charsets than UTF-8 and ISO 8859-1 are left aside.
    private static func decode(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = percentDecoded(parts[2]) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1":
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }

    private static func percentDecoded(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.utf8.count == 2, let value = UInt8(digits, radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

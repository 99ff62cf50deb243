import CCurl
import Glibc
import OutletHTTP

/// Logs what is sent and received to stderr, without secrets (`CURLOPT_DEBUGFUNCTION`).
struct WireLog {
    /// The start of an incomplete line of the request's head.
    private var begun: [UInt8] = []

    /// Logs one piece: header lines with their values, bodies as sizes.
    mutating func write(
        _ kind: curl_infotype, _ bytes: UnsafeRawBufferPointer, of transfer: UInt64
    ) {
        var text = ""
        for line in lines(kind, bytes) { text += "outlet #\(transfer) \(line)\n" }
        // A single `write`, so that lines of several threads do not mix.
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Returns the log lines of one piece, without secrets and terminal control characters.
    mutating func lines(_ kind: curl_infotype, _ bytes: UnsafeRawBufferPointer) -> [String] {
        let rules = Redaction.standard
        switch kind {
        case CURLINFO_TEXT: return Self.texts(bytes[...], "* ") { rules.remark($0) }
        case CURLINFO_HEADER_OUT:
            // libcurl may split a large head anywhere, and only a whole line shows which field it
            // is.
            begun += bytes
            let end = begun.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            defer { begun.removeFirst(end) }
            return Self.texts(begun[..<end], "> ") { rules.headLine($0) }
        case CURLINFO_HEADER_IN: return Self.texts(bytes[...], "< ") { rules.headLine($0) }
        case CURLINFO_DATA_OUT: return ["> [\(bytes.count) bytes of body]"]
        case CURLINFO_DATA_IN: return ["< [\(bytes.count) bytes of body]"]
        default: return []
        }
    }

    private static func texts(
        _ bytes: some Collection<UInt8>, _ mark: String, _ shown: (ArraySlice<UInt8>) -> String
    ) -> [String] {
        Array(bytes).split(separator: UInt8(ascii: "\n")).compactMap { line in
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            return line.isEmpty ? nil : mark + TerminalText.visible(shown(line))
        }
    }
}

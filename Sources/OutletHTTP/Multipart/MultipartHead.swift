package import FoundationEssentials

/// The header fields of one part of a multipart body.
package enum MultipartHead {
    /// Returns the fields of a part of a form (RFC 7578 §4.2).
    package static func fields(
        name: String, fileName: String?, mimeType: String?
    ) -> HTTPHeaders {
        var disposition = "form-data; name=\"\(escaped(name, isLast: fileName == nil))\""
        if let fileName { disposition += "; filename=\"\(escaped(fileName, isLast: true))\"" }
        var headers: HTTPHeaders = [.contentDisposition(disposition)]
        if let mimeType { headers.add(.contentType(mimeType)) }
        return headers
    }

    /// Returns the fields as sent before the part's bytes, empty line included.
    package static func encoded(_ headers: HTTPHeaders) -> Data {
        Data((headers.map { "\($0)\r\n" }.joined() + "\r\n").utf8)
    }

    /// Returns a name as browsers send it: with quotes and line breaks percent-encoded.
    ///
    /// That is HTML's "multipart/form-data encoding algorithm", which keeps backslashes. NUL, which
    /// servers reject, is encoded as well.
    ///
    /// Many servers read a backslash before the closing quote as an escape of that quote, so that the
    /// next parameter would belong to the name, and a part of its value could be a parameter. So a last
    /// backslash is encoded as well, unless the name is at the end of the field, where these servers
    /// read it as intended.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - isLast: Whether no parameter follows.
    static func escaped(_ name: String, isLast: Bool) -> String {
        var escaped = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"": escaped += "%22"
            case "\r": escaped += "%0D"
            case "\n": escaped += "%0A"
            case "\0": escaped += "%00"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        if !isLast, escaped.utf8.last == UInt8(ascii: "\\") {
            escaped = String(escaped.unicodeScalars.dropLast()) + "%5C"
        }
        return escaped
    }
}

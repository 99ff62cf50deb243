package import FoundationEssentials

/// The header fields of one part of a multipart body.
package enum MultipartHead {
    /// Returns the fields of a part of a form (RFC 7578 §4.2).
    package static func fields(
        name: String, fileName: String?, mimeType: String?
    ) -> HTTPHeaders {
        var disposition = "form-data; name=\"\(escaped(name))\""
        if let fileName { disposition += "; filename=\"\(escaped(fileName))\"" }
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
    /// That is HTML's "multipart/form-data encoding algorithm". NUL, which servers reject, is
    /// encoded as well.
    static func escaped(_ name: String) -> String {
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
        return escaped
    }
}

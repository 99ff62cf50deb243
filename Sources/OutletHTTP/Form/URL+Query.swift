package import FoundationEssentials

extension URL {
    /// This URL with an encoded query behind the one it has, joined by `&`; the fragment stays last.
    ///
    /// - Returns: `nil` when the result is no URL.
    package func appending(encodedQuery: String) -> URL? {
        guard !encodedQuery.isEmpty else { return self }
        let text = absoluteString
        let fragment = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let head = text[..<fragment]
        let separator =
            switch (head.containsByte("?"), head.utf8.last) {
            case (false, _): "?"
            case (true, UInt8(ascii: "?")), (true, UInt8(ascii: "&")): ""
            case (true, _): "&"
            }
        return URL(string: head + separator + encodedQuery + text[fragment...])
    }
}

package import FoundationEssentials

extension URL {
    /// Returns the URL with a query appended to its own, joined with `&`; keeps the fragment.
    ///
    /// - Parameter encodedQuery: The query, percent-encoded; if empty, the URL is not changed.
    /// - Returns: `nil` if the result is not a valid URL.
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

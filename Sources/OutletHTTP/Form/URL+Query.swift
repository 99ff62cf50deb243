package import FoundationEssentials

extension URL {
    /// This URL with an encoded query behind the one it has, joined by `&`; the fragment stays last.
    ///
    /// - Returns: `nil` when the result is no URL.
    package func appending(encodedQuery: String) -> URL? {
        guard !encodedQuery.isEmpty else { return self }
        let text = absoluteString
        let fragment = text.firstIndex(of: "#") ?? text.endIndex
        let head = text[..<fragment]
        let separator =
            switch (head.contains("?"), head.last) {
            case (false, _): "?"
            case (true, "?"), (true, "&"): ""
            case (true, _): "&"
            }
        return URL(string: head + separator + encodedQuery + text[fragment...])
    }
}

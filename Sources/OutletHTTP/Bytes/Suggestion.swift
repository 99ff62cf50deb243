/// Finds the word that a misspelt one may have meant.
package enum Suggestion {
    /// Returns the candidate that differs in case only, or else that with the smallest
    /// ``distance(_:_:)``, if that is small enough for a typing error.
    ///
    /// - Returns: `nil` if no candidate differs in case only, and all distances are above the limit, which is 1 for a word of up to five
    ///   bytes, else 2.
    package static func nearest(to word: String, among candidates: some Sequence<String>) -> String?
    {
        let sameWords = candidates.filter { $0.equalsIgnoringCase(word) }
        if let same = sameWords.min() { return same }
        let limit = word.utf8.count <= 5 ? 1 : 2
        return candidates.map { (distance: distance(word, $0), word: $0) }
            .filter { $0.distance <= limit }
            .min { ($0.distance, $0.word) < ($1.distance, $1.word) }?.word
    }

    /// Returns the number of bytes that were omitted, added, changed or swapped with the next one
    /// (the optimal string alignment distance).
    package static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.utf8)
        let b = Array(b.utf8)
        var before: [Int] = []
        var previous = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var best = min(
                    previous[j] + (a[i] == b[j] ? 0 : 1), previous[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    best = min(best, before[j - 1] + 1)
                }
                row.append(best)
            }
            before = previous
            previous = row
        }
        return previous[b.count]
    }
}

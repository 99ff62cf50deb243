extension Collection {
    /// Returns the element at `place`, counted from 0.
    ///
    /// Throws where a subscript would trap: a trap ends the whole test process.
    ///
    /// - Throws: ``TestSupportError`` with the number of elements if there is none at `place`.
    public func at(_ place: Int) throws -> Element {
        guard place >= 0, let index = index(startIndex, offsetBy: place, limitedBy: endIndex),
            index != endIndex
        else { throw TestSupportError("element \(place) wanted of \(count)") }
        return self[index]
    }
}

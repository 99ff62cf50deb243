extension Collection {
    /// The element at a place, the first being 0, in place of a subscript, which ends all tests where
    /// there are too few.
    ///
    /// - Throws: ``TestSupportError`` with how many there are.
    public func at(_ place: Int) throws -> Element {
        guard place >= 0, let index = index(startIndex, offsetBy: place, limitedBy: endIndex),
            index != endIndex
        else { throw TestSupportError("element \(place) wanted of \(count)") }
        return self[index]
    }
}

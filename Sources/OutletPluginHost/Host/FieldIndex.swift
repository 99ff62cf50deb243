import OutletHTTP

/// The positions of header fields by name, so that setting many fields takes linear time.
///
/// An index belongs to one list, which must be changed through the index; call ``invalidate()``
/// after any other change.
struct FieldIndex {
    /// The number of fields from which on an index is built; shorter lists are searched.
    private static let threshold = 64

    private struct Place {
        let first: Int
        var count: Int
    }

    private var places: [String: Place]?

    /// Discards the index after a change that was not made through it.
    mutating func invalidate() { places = nil }

    /// Sets a field: replaces the first one of that name, and removes the others.
    mutating func update(_ field: HTTPHeader, in headers: inout HTTPHeaders) {
        guard isBuilt(for: headers) else { return headers.update(field) }
        let name = field.name.lowercasedASCII
        switch places?[name] {
        case nil: append(field, named: name, to: &headers)
        case let place? where place.count == 1: headers.replace(at: place.first, with: field)
        default:
            headers.update(field)
            invalidate()
        }
    }

    /// Appends a field.
    mutating func append(_ field: HTTPHeader, to headers: inout HTTPHeaders) {
        guard isBuilt(for: headers) else { return headers.append(field) }
        append(field, named: field.name.lowercasedASCII, to: &headers)
    }

    /// Removes all fields with a name.
    mutating func remove(_ name: String, from headers: inout HTTPHeaders) {
        if isBuilt(for: headers), places?[name.lowercasedASCII] == nil { return }
        headers.remove(name: name)
        invalidate()
    }

    /// Returns the position of a field.
    ///
    /// - Parameters:
    ///   - name: The name; the bytes need not be UTF-8.
    ///   - nth: The index among the fields with this name, from 0.
    ///   - headers: The list.
    /// - Returns: `nil` if there is no such field.
    mutating func position(
        of name: UnsafeBufferPointer<UInt8>, _ nth: Int, in headers: HTTPHeaders
    ) -> Int? {
        guard isBuilt(for: headers) else { return headers.position(named: name, nth) }
        guard let place = places?[String(decoding: name, as: UTF8.self).lowercasedASCII],
            nth < place.count
        else { return nil }
        return nth == 0 ? place.first : headers.position(named: name, nth)
    }

    private mutating func append(
        _ field: HTTPHeader, named name: String, to headers: inout HTTPHeaders
    ) {
        places?[name, default: Place(first: headers.count, count: 0)].count += 1
        headers.append(field)
    }

    /// Whether the list is long enough for an index, which is then built if necessary.
    private mutating func isBuilt(for headers: HTTPHeaders) -> Bool {
        guard headers.count >= Self.threshold else {
            places = nil
            return false
        }
        if places == nil {
            var found: [String: Place] = [:]
            for (index, field) in headers.enumerated() {
                found[field.name.lowercasedASCII, default: Place(first: index, count: 0)].count += 1
            }
            places = found
        }
        return true
    }
}

/// A list whose first element needs no allocation: most requests have one of each thing.
struct InlineFirst<Element> {
    private(set) var first: Element?
    private var rest: [Element] = []

    var isEmpty: Bool { first == nil }
    var count: Int { first == nil ? 0 : 1 + rest.count }
    var last: Element? { rest.last ?? first }
    var array: [Element] { first.map { [$0] + rest } ?? [] }

    subscript(index: Int) -> Element? {
        index == 0 ? first : (rest.indices.contains(index - 1) ? rest[index - 1] : nil)
    }

    mutating func append(_ element: Element) {
        if first == nil { first = element } else { rest.append(element) }
    }

    mutating func replaceLast(_ element: Element) {
        if rest.isEmpty { first = element } else { rest[rest.count - 1] = element }
    }

    func allSatisfy(_ predicate: (Element) -> Bool) -> Bool {
        first.map(predicate) != false && rest.allSatisfy(predicate)
    }

    func forEach(_ body: (Element) throws -> Void) rethrows {
        guard let first else { return }
        try body(first)
        try rest.forEach(body)
    }
}

extension InlineFirst: Sendable where Element: Sendable {}

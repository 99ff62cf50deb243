/// A list that stores its first element without an allocation.
///
/// Most requests have exactly one element in each list.
enum InlineFirst<Element> {
    case none
    case one(Element)
    /// Contains at least two elements.
    case many([Element])

    init() { self = .none }

    var isEmpty: Bool {
        if case .none = self { true } else { false }
    }
    var count: Int {
        switch self {
        case .none: 0
        case .one: 1
        case .many(let all): all.count
        }
    }
    var first: Element? {
        switch self {
        case .none: nil
        case .one(let element): element
        case .many(let all): all.first
        }
    }
    var last: Element? {
        switch self {
        case .none: nil
        case .one(let element): element
        case .many(let all): all.last
        }
    }
    var array: [Element] {
        switch self {
        case .none: []
        case .one(let element): [element]
        case .many(let all): all
        }
    }

    subscript(index: Int) -> Element? {
        switch self {
        case .none: nil
        case .one(let element): index == 0 ? element : nil
        case .many(let all): all.indices.contains(index) ? all[index] : nil
        }
    }

    mutating func append(_ element: consuming Element) {
        switch self {
        case .none: self = .one(element)
        case .one(let first): self = .many([first, element])
        case .many(var all):
            self = .none
            all.append(element)
            self = .many(all)
        }
    }

    mutating func replaceLast(_ element: Element) {
        switch self {
        case .none, .one: self = .one(element)
        case .many(var all):
            self = .none
            all[all.count - 1] = element
            self = .many(all)
        }
    }

    /// Removes and returns the first element.
    mutating func popFirst() -> Element? {
        switch self {
        case .none: return nil
        case .one(let element):
            self = .none
            return element
        case .many(var all):
            self = .none
            let first = all.removeFirst()
            self = all.count == 1 ? .one(all[0]) : .many(all)
            return first
        }
    }

    func allSatisfy(_ predicate: (Element) -> Bool) -> Bool {
        switch self {
        case .none: true
        case .one(let element): predicate(element)
        case .many(let all): all.allSatisfy(predicate)
        }
    }

    func forEach(_ body: (Element) throws -> Void) rethrows {
        switch self {
        case .none: break
        case .one(let element): try body(element)
        case .many(let all): try all.forEach(body)
        }
    }
}

extension InlineFirst: Sendable where Element: Sendable {}

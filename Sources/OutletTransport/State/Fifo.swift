/// A FIFO queue in one array, whose used-up front is removed now and then, so that the cost of an
/// element does not depend on the number of elements.
///
/// Inlinable, because other modules would otherwise call it unspecialised.
@usableFromInline package struct Fifo<Element> {
    /// The elements; `nil` before ``head``.
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    /// The capacity up to which the memory of an empty queue is kept.
    @inlinable static var keptCapacity: Int { 1024 }

    /// Makes an empty queue.
    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { elements.isEmpty }

    @inlinable package var count: Int { elements.count - head }

    /// The elements in their order.
    @inlinable package var all: [Element] { elements[head...].compactMap { $0 } }

    @inlinable package mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Removes and returns the first element; `nil` if there is none.
    @inlinable package mutating func popFirst() -> Element? {
        // Usually each element is removed before the next one is added.
        if elements.count == 1, elements.capacity <= Self.keptCapacity {
            return elements.removeLast()
        }
        guard !elements.isEmpty else { return nil }
        let element = elements[head].take()
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= Self.keptCapacity)
            head = 0
        } else if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Removes and returns the first element if it satisfies a condition.
    @inlinable package mutating func popFirst(where isWanted: (Element) -> Bool) -> Element? {
        guard !elements.isEmpty, let first = elements[head], isWanted(first) else { return nil }
        return popFirst()
    }

    /// Removes the elements that satisfy a condition.
    @inlinable package mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        elements = elements[head...].filter { $0.map { !isUnwanted($0) } ?? false }
        head = 0
    }
}

extension Fifo: Sendable where Element: Sendable {}

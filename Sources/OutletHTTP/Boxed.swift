/// A large value with copy-on-write storage: a copy costs one retain.
@usableFromInline package struct Boxed<Value: Sendable>: Sendable {
    @usableFromInline final class Storage: @unchecked Sendable {
        // because it is changed only while a single `Boxed` refers to it.

        // Release builds do not check exclusive access to the value: a mutation has exclusive
        // access to the `Boxed` that owns it. With those of `PlayedTransfer`, the checks cost 10 %
        // of the instructions of a stored response (Benchmarks/count stored).
        #if !DEBUG
            @exclusivity(unchecked)
        #endif
        @usableFromInline var value: Value

        @usableFromInline init(_ value: Value) { self.value = value }
    }

    @usableFromInline var storage: Storage

    @inlinable package init(_ value: Value) { storage = Storage(value) }

    /// The value.
    @inlinable package var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }

    /// Whether both share the same storage, so that neither was changed since the copy.
    @inlinable package func isIdentical(to other: Boxed) -> Bool { storage === other.storage }
}

extension Boxed: Equatable where Value: Equatable {
    @inlinable package static func == (a: Boxed, b: Boxed) -> Bool {
        a.isIdentical(to: b) || a.value == b.value
    }
}

extension Boxed: Hashable where Value: Hashable {
    @inlinable package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

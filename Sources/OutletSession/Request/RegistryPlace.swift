import Synchronization

/// The index of a request in its session's registry; `nil` while it is not there.
///
/// Used under the registry's lock only; atomic because the compiler cannot know that.
struct RegistryPlace: ~Copyable, Sendable {
    private let index = Atomic(-1)

    var value: Int? {
        get {
            let index = index.load(ordering: .relaxed)
            return index < 0 ? nil : index
        }
        nonmutating set { index.store(newValue ?? -1, ordering: .relaxed) }
    }
}

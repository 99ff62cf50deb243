/// One thing that a plugin did to a request or a response.
struct PluginAction: Sendable, Equatable {
    /// The plugin's id.
    var plugin: String
    /// The hook's name, such as `prepare`.
    var hook: String
    /// What came of it, in words, secrets left out; empty when nothing did.
    var effects: [String]
    /// Why the hook failed; `nil` when it did not.
    var failure: String?
    /// How long the hook took, in microseconds; for `adapt` and `retry` until it was settled.
    var microseconds: Int64
}

extension PluginAction {
    /// What came of it on one line; `nil` when nothing did.
    var summary: String? {
        let parts = effects + (failure.map { ["failed: \($0)"] } ?? [])
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

/// A hook call of a plugin for a request or a response, with its effects.
struct PluginAction: Sendable, Equatable {
    /// The plugin's id.
    var plugin: String
    /// The hook's name, such as `prepare`.
    var hook: String
    /// Descriptions of the hook's changes, without secrets; empty if there are none.
    var effects: [String]
    /// Why the hook failed; `nil` if it did not.
    var failure: String?
    /// The delay of the retry that a `retry` hook has asked for in seconds; `nil` for none.
    var retryDelay: Double?
    /// The hook's duration in microseconds; of a hook that answers later until it was settled.
    var microseconds: Int64
}

extension PluginAction {
    /// The effects and the failure on one line; `nil` if there are none.
    var summary: String? {
        let parts = effects + (failure.map { ["failed: \($0)"] } ?? [])
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

/// One thing that a plugin did to a request or a response.
struct PluginAction: Sendable, Equatable {
    /// The plugin's id.
    var plugin: String
    /// The hook's name, such as `prepare`.
    var hook: String
    /// What came of it, in words, secrets left out.
    var effect: String
    /// How long the hook took, in microseconds.
    var microseconds: Int64
}

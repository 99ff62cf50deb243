/// What a plugin has done since it was loaded.
///
/// As JSON (`Codable`) it has the members below, hooks by their names.
public struct PluginStatus: Sendable, Equatable, Codable {
    /// How often one hook was called, and what it cost.
    public struct Hook: Sendable, Equatable, Codable {
        /// How many calls have come back.
        public var calls = 0
        /// How long they took in all, in nanoseconds: on the plugin's stack, not until an answer.
        public var duration: UInt64 = 0
        /// How long the longest took, in nanoseconds.
        public var longest: UInt64 = 0
    }

    /// The plugin's id, with the instance's name where it has one.
    public var id: String
    /// By the names of hooks, such as `did_receive`.
    public var hooks: [String: Hook]
    /// How often the plugin broke the contract, by what it broke.
    public var faults: [String: Int]
    /// Whether the plugin is left alone for a while, because of too many faults.
    public var isTripped: Bool
    /// How many calls into the plugin have not come back.
    public var callsUnderWay: Int
}

/// Call counts and contract violations of a plugin since it was loaded.
///
/// Encoded as JSON (`Codable`) it has the members below, with hooks by their names.
public struct PluginStatus: Sendable, Equatable, Codable {
    /// Call count and durations of one hook.
    public struct Hook: Sendable, Equatable, Codable {
        /// The number of calls that have returned.
        public var calls = 0
        /// The total time of these calls in nanoseconds, until each returned; an answer given later
        /// is not included.
        public var duration: UInt64 = 0
        /// The time of the longest call, in nanoseconds.
        public var longest: UInt64 = 0
    }

    /// The plugin's id, with `#` and the instance's name if it has one.
    public var id: String
    /// The figures by hook name, such as `did_receive`; hooks that were never called are missing.
    public var hooks: [String: Hook]
    /// The number of contract violations by kind (``PluginMisbehaviour/Kind``); kinds that did not
    /// occur are missing.
    public var faults: [String: Int]
    /// Whether the plugin's request hooks are not called at present because of too many violations.
    public var isTripped: Bool
    /// The number of calls into the plugin that have not returned.
    public var activeCalls: Int
}

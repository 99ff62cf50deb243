/// Told what plugins do, write to the log and get wrong.
///
/// Without an observer nothing is measured or compared, and log lines go nowhere.
///
/// Thread: any; calls may overlap. Called between a plugin's hooks and whatever comes next, so it
/// should be quick, and never waits for a request or calls a plugin.
public protocol PluginObserver: AnyObject, Sendable {
    /// A hook or an exported function has come back.
    func pluginDidAct(_ activity: PluginActivity)
    /// A plugin wrote a line to the log.
    func pluginDidLog(_ line: PluginLogLine)
    /// A plugin broke the contract.
    func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour)
}

extension PluginObserver {
    /// Does nothing.
    public func pluginDidAct(_ activity: PluginActivity) {}
    /// Does nothing.
    public func pluginDidLog(_ line: PluginLogLine) {}
    /// Does nothing.
    public func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour) {}
}

/// One thing that a plugin did.
public struct PluginActivity: Sendable, Equatable {
    /// The plugin's id.
    public var plugin: String
    /// The moment.
    public var hook: PluginHook
    /// The request's id, where there is a request and it has one.
    public var requestID: String?
    /// How long it took, in nanoseconds; for `adapt` and `retry` until it was settled.
    public var duration: UInt64
    /// What came of it, one effect each; empty for nothing.
    ///
    /// Such as `+ X-Request-ID: 1f`, `URL -> http://a/b`, `retry in 0.2 s`. Values of headers that
    /// may hold secrets are left out.
    public var effects: [String]
    /// Why it failed; `nil` when it did not.
    public var failure: String?
}

/// A line that a plugin wrote to the log.
public struct PluginLogLine: Sendable, Equatable {
    /// How much a line matters.
    public enum Level: UInt32, Sendable, Comparable, CaseIterable {
        /// For the plugin's developers.
        case debug
        /// Worth knowing.
        case info
        /// Something is not as it should be.
        case warning
        /// Something failed.
        case error

        /// Orders levels from `debug` to `error`.
        public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// The plugin's id.
    public var plugin: String
    /// How much it matters.
    public var level: Level
    /// The text, at most 4 KiB of it; as the plugin wrote it.
    public var message: String
    /// What it says beside the text, at most 32 facts.
    public var facts: [Fact] = []

    /// A fact by name.
    public struct Fact: Sendable, Equatable {
        /// Such as `attempt`; at most 4 KiB, as the plugin wrote it.
        public var name: String
        /// Such as `2`; at most 4 KiB, as the plugin wrote it.
        public var value: String
    }
}

/// A breach of the contract by a plugin.
public struct PluginMisbehaviour: Sendable, Equatable {
    /// What was broken.
    public enum Kind: String, Sendable, CaseIterable {
        /// A handle was used after its end.
        case staleHandle
        /// A handle was used that the plugin was never given.
        case foreignHandle
        /// A completion was settled twice.
        case settledTwice
        /// A completion was not settled by its deadline.
        case neverSettled
        /// `quiesced` was called though nobody had asked.
        case unaskedQuiesced
        /// The plugin did not end its work in time, and was abandoned.
        case didNotQuiesce
        /// Loading the plugin changed what belongs to the whole process.
        case changedProcess
        /// A value was passed that the contract forbids.
        case forbiddenValue
    }

    /// The plugin's id.
    public var plugin: String
    /// What was broken.
    public var kind: Kind
    /// How often this plugin did that, this time included.
    public var count: Int
    /// The fact.
    public var fact: String
}

/// The moments in which a plugin is called.
public enum PluginHook: String, Sendable, CaseIterable {
    /// Its library is loaded: constructors, the entry.
    case load
    /// An instance is made.
    case create
    /// An instance gets another configuration.
    case reconfigure
    /// A request is changed, maybe after a while.
    case adapt
    /// A request is changed.
    case prepare
    /// The fields of a request on the wire are changed.
    case finalize
    /// A request is about to be sent.
    case willSend = "will_send"
    /// A redirect is decided about.
    case redirect
    /// Another attempt is decided about.
    case retry
    /// The outcome is known.
    case didReceive = "did_receive"
    /// The outcome may be replaced.
    case process
    /// A call is over.
    case requestDone = "request_done"
    /// A value is made of a response.
    case serialize
    /// Events are told.
    case events = "on_events"
    /// A server is trusted, or not.
    case trust
    /// A request of the plugin's own has come to an end.
    case httpDone = "http_done"
    /// A timer of the plugin's has come to an end.
    case timerDone = "timer_done"
    /// A piece of a response's body is watched.
    case streamPiece = "stream_piece"
    /// A piece of a request's body is made.
    case streamMake = "stream_make"
    /// A stream has come to an end.
    case streamEnd = "stream_end"
    /// Nobody waits for an answer any more.
    case cancel
    /// An exported function is called.
    case call
    /// The instance ends its work.
    case quiesce
    /// The instance is unmade.
    case destroy
}

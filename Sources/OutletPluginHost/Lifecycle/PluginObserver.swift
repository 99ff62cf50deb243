/// Receives what plugins do, their log lines and their contract violations.
///
/// Without an observer nothing is measured or compared, and log lines are discarded.
///
/// Thread: any; calls may overlap. The host calls it synchronously between hooks, so it must return
/// quickly and must neither wait for a request nor call a plugin.
public protocol PluginObserver: AnyObject, Sendable {
    /// Called after a hook or an exported function has finished.
    ///
    /// - Parameter activity: The call, its duration and its effects.
    func pluginDidAct(_ activity: PluginActivity)
    /// Called when a plugin writes a line to the log.
    ///
    /// - Parameter line: The line.
    func pluginDidLog(_ line: PluginLogLine)
    /// Called when a plugin violates the contract.
    ///
    /// - Parameter misbehaviour: The violation.
    func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour)
}

extension PluginObserver {
    /// Does nothing.
    ///
    /// - Parameter activity: The call, its duration and its effects.
    public func pluginDidAct(_ activity: PluginActivity) {}
    /// Does nothing.
    ///
    /// - Parameter line: The line.
    public func pluginDidLog(_ line: PluginLogLine) {}
    /// Does nothing.
    ///
    /// - Parameter misbehaviour: The violation.
    public func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour) {}
}

/// One finished call of a hook or an exported function.
public struct PluginActivity: Sendable, Equatable {
    /// The plugin's id, with `#` and the instance's name if it has one.
    public var plugin: String
    /// The hook; ``PluginHook/call`` for exported functions.
    public var hook: PluginHook
    /// The id of the request the call was about; `nil` where there is none.
    public var requestID: String?
    /// The time it took in nanoseconds; for hooks that answer later, until the answer.
    public var duration: UInt64
    /// What the call changed, one effect each; empty for nothing.
    ///
    /// For example `+ X-Request-ID: 1f`, `URL -> http://a/b`, `retry in 0.2 s`. Values of headers
    /// that may hold secrets are left out. At most 64 are described, in up to 512 bytes each; one
    /// more then says how many others there are.
    public var effects: [String]
    /// Why the call failed; `nil` when it succeeded.
    public var failure: String?
    /// What is wrong with the reason of the failure; `nil` if nothing is, or nothing failed.
    public var reasonFault: ReasonFault?
    /// The delay before the next attempt in seconds, for which the `retry` hook has asked; `nil`
    /// without one.
    public var retryDelay: Double?
    /// The changes of requests or responses that the host has refused, at most 8, for example
    /// `request_set_url: the URL is neither http nor https`; empty for none.
    public var refusals: [String] = []
}

/// A line that a plugin wrote to the log.
public struct PluginLogLine: Sendable, Equatable {
    /// The severity of a log line.
    public enum Level: UInt32, Sendable, Comparable, CaseIterable {
        /// Details for the plugin's developers.
        case debug
        /// Normal operation.
        case info
        /// A problem that does not make an operation fail.
        case warning
        /// An operation failed.
        case error

        /// Orders levels from `debug` to `error`.
        public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }

        /// The name, such as `warning`.
        ///
        /// Interpolating the level itself would take 40 KiB of the stack of a plugin's thread.
        package var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }
    }

    /// The plugin's id, with `#` and the instance's name if it has one.
    public var plugin: String
    /// The severity.
    public var level: Level
    /// The text as the plugin wrote it, cut off after 4 KiB.
    public var message: String
    /// Structured values that go with the text; at most 32.
    public var facts: [Fact] = []
    /// The argument that the host has refused, if the line is the host's about that; else `nil`.
    package var refused: RefusedText?
    /// Whether what was refused would have changed a request or a response.
    package var isOfChange = false

    /// A name and a value.
    public struct Fact: Sendable, Equatable {
        /// For example `attempt`, as the plugin wrote it; cut off after 4 KiB.
        public var name: String
        /// For example `2`, as the plugin wrote it; cut off after 4 KiB.
        public var value: String
    }
}

/// A violation of the plugin contract.
public struct PluginMisbehaviour: Sendable, Equatable, CustomStringConvertible {
    /// Which part of the contract was violated.
    public enum Kind: String, Sendable, CaseIterable {
        /// The plugin used a handle after its end.
        case staleHandle
        /// The plugin used a handle that it was never given.
        case foreignHandle
        /// The plugin used handles of a running hook on another thread.
        case wrongThread
        /// The plugin settled a completion twice.
        case settledTwice
        /// A hook did not return, or a completion was not settled, by the deadline.
        case neverSettled
        /// A hook of a plugin with `OUTLET_F_NONBLOCKING` took longer than a second; if it is one
        /// of requests, others of the session waited for it.
        case blocked
        /// The plugin called `quiesced` though the host was not waiting for it.
        case unaskedQuiesced
        /// The plugin did not shut down in time, and was abandoned; or a thread of it went on after
        /// `destroy`.
        case didNotQuiesce
        /// Loading the plugin changed process-wide state.
        case changedProcess
        /// A hook changed the floating-point control of its thread.
        case changedThread
        /// The plugin passed a value that the contract forbids.
        case forbiddenValue
        /// The plugin made a copy of the process. Detected by ``PluginWatch``, not by the host: it is
        /// neither counted nor reported to an observer.
        case copiedProcess
    }

    /// The plugin's id, with `#` and the instance's name if it has one.
    public var plugin: String
    /// Which part of the contract was violated.
    public var kind: Kind
    /// How often this plugin has done so, including this time.
    public var count: Int
    /// What happened, in one sentence.
    public var fact: String
    /// The hook in which it happened; `nil` if it is not known, as on a thread of the plugin's own.
    public var hook: PluginHook?
    /// The request that the hook was called for, without secrets; `nil` if it is not known.
    public var request: String?

    /// The fact, with the hook and the request if they are known.
    public var description: String {
        guard let hook else { return fact }
        return "\(fact), in \(hook.rawValue)" + (request.map { " of \($0)" } ?? "")
    }
}

/// The calls that the host makes into a plugin.
public enum PluginHook: String, Sendable, CaseIterable {
    /// The library is loaded: constructors and the entry function run.
    case load
    /// An instance is created.
    case create
    /// A new instance returns its table of hooks.
    case hooks
    /// A running instance receives a new configuration.
    case reconfigure
    /// Changes a request; may answer later.
    case adapt
    /// Changes a request after all adapters.
    case prepare
    /// Changes the header fields of a request as it goes out on the wire.
    case finalize
    /// Called before a request is sent; cannot change it.
    case willSend = "will_send"
    /// Decides whether a redirect is followed.
    case redirect
    /// Decides whether a request is retried.
    case retry
    /// Called when the outcome of a call is known.
    case didReceive = "did_receive"
    /// May replace the outcome of a call.
    case process
    /// Called once when a call is over.
    case requestDone = "request_done"
    /// Makes a value from a response.
    case serialize
    /// Receives a batch of events.
    case events = "on_events"
    /// Decides whether a server is trusted.
    case trust
    /// A request that the plugin sent has ended.
    case httpDone = "http_done"
    /// A timer of the plugin has fired or was cancelled.
    case timerDone = "timer_done"
    /// Receives a part of a response's body.
    case streamPiece = "stream_piece"
    /// Produces a part of a request's body.
    case streamMake = "stream_make"
    /// A stream of the plugin has ended.
    case streamEnd = "stream_end"
    /// A pending answer is no longer needed.
    case cancel
    /// Calls an exported function.
    case call
    /// Ends the instance's work before it is destroyed.
    case quiesce
    /// Destroys the instance.
    case destroy
}

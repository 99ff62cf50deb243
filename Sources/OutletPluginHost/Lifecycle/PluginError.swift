public import FoundationEssentials
import OutletHTTP

/// A failure that a plugin caused in a request or in a call of an exported function.
public struct PluginError: Error, Sendable, Equatable {
    /// The ways in which a plugin can fail.
    public enum Kind: Sendable, Equatable {
        /// The plugin returned an error.
        case failed
        /// The plugin did not answer by the deadline.
        case timedOut
        /// The answer was no longer needed, for example because the request was cancelled.
        case cancelled
        /// The plugin has been shut down or is shutting down.
        case closed
        /// The plugin was called from one of its own hooks, and does not allow overlapping calls.
        case reentered
        /// The plugin is not called at present because of too many contract violations
        /// (`PluginHost.Options.maximumFaults`).
        case tripped
    }

    /// The plugin's id, with `#` and the instance's name if it has one.
    public var plugin: String
    /// The hook that failed.
    public var hook: PluginHook
    /// The name of the exported function that failed; empty for hooks.
    public var function = ""
    /// The kind of failure.
    public var kind: Kind
    /// The plugin's stable error code, such as `token-expired`; empty where it gave none.
    public var code: String
    /// The plugin's message, or the host's description of the failure.
    public var message: String
    /// Whether the plugin refused the request (`OUTLET_E_DENIED`).
    ///
    /// A refusal fails the request even where ``PluginSettings/failsOpen`` is set.
    public var isRefusal = false
    /// Why ``message`` is the host's although the plugin should have given one; else `nil`.
    public var reasonFault: ReasonFault?

    /// Creates an error that is not a refusal.
    ///
    /// - Parameters:
    ///   - plugin: The plugin's id.
    ///   - hook: The hook that failed.
    ///   - kind: The kind of failure.
    ///   - code: A stable error code for programs; empty for none.
    ///   - message: What went wrong, without secrets.
    public init(
        plugin: String, hook: PluginHook, kind: Kind, code: String = "", message: String
    ) {
        self.code = code
        self.plugin = plugin
        self.hook = hook
        self.kind = kind
        self.message = message
    }
}

extension PluginError: CustomStringConvertible, LocalizedError {
    /// One line: the plugin, the hook or function, the code and the message, with secrets redacted.
    public var description: String {
        let what =
            switch kind {
            case .failed: "failed"
            case .timedOut: "did not answer in time"
            case .cancelled: "was cancelled"
            case .closed: "is not available"
            case .reentered: "was called from inside itself"
            case .tripped: "was not called"
            }
        let code = code.isEmpty ? "" : " (\(code))"
        let place = function.isEmpty ? hook.rawValue : "call of '\(function)'"
        return TerminalText.visibleLine(
            "plugin \(plugin): \(place) \(what)\(code): " + Redaction.standard.text(message))
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

import OutletHTTP

/// A plugin made a request or a call fail.
public struct PluginError: Error, Sendable, Equatable {
    /// How.
    public enum Kind: Sendable, Equatable {
        /// The plugin said no.
        case failed
        /// The plugin did not answer in time.
        case timedOut
        /// Nobody waits for the plugin's answer any more.
        case cancelled
        /// The plugin is shut down, or is being shut down.
        case closed
        /// The plugin was called from inside itself.
        case reentered
        /// The plugin has failed its contract too often, and is left alone for a while.
        case tripped
    }

    /// The plugin's id.
    public var plugin: String
    /// In which moment.
    public var hook: PluginHook
    /// How.
    public var kind: Kind
    /// A stable word of the plugin's, such as `token-expired`; empty where it gave none.
    public var code: String
    /// The plugin's own words, or the fact.
    public var message: String
    /// Whether the plugin refuses (`OUTLET_E_DENIED`), which holds also where requests go on in spite of
    /// its other failures.
    public var isRefusal = false

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - plugin: The plugin's id.
    ///   - hook: The moment in which it failed.
    ///   - kind: In which way it failed.
    ///   - code: A stable word for programs; empty for none.
    ///   - message: The fact, secrets left out.
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

extension PluginError: CustomStringConvertible {
    /// One line: the plugin, the moment, the fact.
    public var description: String {
        let what =
            switch kind {
            case .failed: "failed"
            case .timedOut: "did not answer in time"
            case .cancelled: "was given up"
            case .closed: "is not available"
            case .reentered: "was called from inside itself"
            case .tripped: "was not called"
            }
        let code = code.isEmpty ? "" : " (\(code))"
        return "plugin \(plugin): \(hook.rawValue) \(what)\(code): "
            + Redaction.standard.text(message)
    }
}

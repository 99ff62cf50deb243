public import COutletPlugin

/// What a plugin throws to fail a request or its own creation, and what the host answers to a call
/// it refuses.
public struct PluginError: Error, Sendable, Equatable {
    /// `OUTLET_E_FAILED`, or the host's answer.
    public var status: outlet_status
    /// A stable word for programs, of lower-case letters, digits and `-`, such as `token-expired`, at
    /// most 64 bytes; may be empty.
    public var code: String
    /// What is wrong: the fact, without secrets; the host takes 4 KiB of it.
    public var message: String

    /// A failure of the plugin's own.
    public init(_ message: String, code: String = "") {
        self.status = OUTLET_E_FAILED
        self.code = code
        self.message = message
    }

    init(status: outlet_status, refusing what: String) {
        self.status = status
        self.code = ""
        self.message = "\(what): \(PluginError.meaning(of: status))"
    }

    private static func meaning(of status: outlet_status) -> String {
        switch status {
        case OUTLET_E_STALE: "the request is over"
        case OUTLET_E_DENIED: "not granted to this plugin"
        case OUTLET_E_ARGUMENT: "the host does not accept the value"
        case OUTLET_E_STATE: "not possible in this hook"
        case OUTLET_E_UNSUPPORTED: "this host cannot do that"
        case OUTLET_E_NOT_FOUND: "there is none"
        default: "refused by the host with status \(status)"
        }
    }

    /// What the host gets of an error.
    static func words(of error: any Error) -> (code: String, message: String) {
        let own = error as? PluginError
        let message = own?.message ?? String(describing: error)
        return (own?.code ?? "", message.start(ofUTF8: 4096))
    }

    /// Throws unless the host said yes.
    static func check(_ status: outlet_status, _ what: @autoclosure () -> String)
        throws(PluginError)
    {
        guard status != OUTLET_OK else { return }
        throw PluginError(status: status, refusing: what())
    }
}

extension PluginError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

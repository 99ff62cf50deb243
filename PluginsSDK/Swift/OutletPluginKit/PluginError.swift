public import COutletPlugin
import FoundationEssentials

/// An error that a plugin throws to fail a request or its own `init`, or that a refused call to the
/// host throws.
///
/// Of other errors that a plugin throws, users see the text if the type conforms to
/// `CustomStringConvertible` or `LocalizedError`, and otherwise only the name of the type and, of an
/// enumeration, of the case: stored properties and associated values may be secrets.
public struct PluginError: Error, Sendable, Equatable {
    /// `OUTLET_E_FAILED` for errors of the plugin, else the status that the host returned.
    public var status: outlet_status
    /// Whether it was made by ``refusal(_:code:)``.
    public private(set) var isRefusal = false
    /// A stable identifier for programs, of ASCII letters, digits and `-`, such as
    /// `token-expired`; at most 64 bytes, may be empty.
    public var code: String
    /// The text for people, without secrets; cut off after 4 KiB when thrown.
    public var message: String

    /// Makes an error of the plugin, with the status `OUTLET_E_FAILED`.
    ///
    /// - Parameters:
    ///   - message: The text for people, without secrets; cut off after 4 KiB when thrown.
    ///   - code: A stable identifier of ASCII letters, digits and `-`, at most 64 bytes. The
    ///     host replaces code and message of an invalid one by a text that says so.
    public init(_ message: String, code: String = "") {
        self.status = OUTLET_E_FAILED
        self.code = code
        self.message = message
    }

    /// Makes the error of a hook that refuses a request deliberately, such as that of a guard, with
    /// the status `OUTLET_E_DENIED`.
    ///
    /// The request fails even if the user lets requests continue when the plugin fails
    /// (`failOpen`), which they do after other errors. The parameters are those of
    /// ``init(_:code:)``.
    public static func refusal(_ message: String, code: String = "") -> PluginError {
        var error = PluginError(message, code: code)
        error.status = OUTLET_E_DENIED
        error.isRefusal = true
        return error
    }

    /// Makes the error of a call that the host refused.
    ///
    /// - Parameters:
    ///   - status: What the host returned.
    ///   - what: What the call was for.
    ///   - causes: What statuses mean for this call, where that is more than they mean elsewhere.
    init(
        status: outlet_status, refusing what: String,
        because causes: KeyValuePairs<outlet_status, String> = [:]
    ) {
        self.status = status
        self.code = ""
        let cause = causes.first { $0.key == status }?.value
        self.message = "\(what): \(cause ?? PluginError.meaning(of: status))"
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

    /// The code and message of an error, as they are passed to the host.
    static func words(of error: any Error) -> (code: String, message: String) {
        let own = error as? PluginError
        let message = own?.message ?? text(of: error)
        return (own?.code ?? "", message.start(ofUTF8: 4096))
    }

    /// The text of an error; of one that has none of its own, the names of its type and case, without
    /// stored properties and associated values, which may be secrets.
    static func text(of error: any Error) -> String {
        if let error = error as? any CustomStringConvertible { return error.description }
        if let text = (error as? any LocalizedError)?.errorDescription { return text }
        let type = "\(Swift.type(of: error))"
        let mirror = Mirror(reflecting: error)
        guard mirror.displayStyle == .enum, !(error is any CustomReflectable) else { return type }
        // The label of the only child of a case with associated values is the name of the case.
        guard let value = mirror.children.first else { return "\(type).\(error)" }
        return value.label.map { "\(type).\($0)" } ?? type
    }

    /// Throws unless a status of the host is `OUTLET_OK`.
    static func check(
        _ status: outlet_status, _ what: @autoclosure () -> String,
        because causes: @autoclosure () -> KeyValuePairs<outlet_status, String> = [:]
    ) throws(PluginError) {
        guard status != OUTLET_OK else { return }
        throw PluginError(status: status, refusing: what(), because: causes())
    }
}

extension PluginError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

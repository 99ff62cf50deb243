import OutletTransport

/// Why the host refuses a text of a plugin.
enum RefusedText: Error, Equatable {
    /// The text `name` has more bytes than `limit`.
    case tooLong(name: String, count: UInt64, limit: Int)
    /// The text `name` is null, but has a length.
    case null(name: String)
    /// The text `name` is not UTF-8.
    case notUTF8(name: String)
    /// The code of a failure has other characters than it may.
    case invalidCode

    /// What is wrong, beginning with "its".
    var fact: String {
        switch self {
        case .tooLong(let name, let count, let limit):
            "its \(name) has \(count) bytes, at most \(limit) are allowed"
        case .null(let name): "its \(name) is null, but has a length"
        case .notUTF8(let name): "its \(name) is not UTF-8"
        case .invalidCode: "its code is not made of lower-case letters, digits and '-'"
        }
    }
}

extension PluginOwner {
    /// Writes a line to the log about a text that is not UTF-8, in the plugin's name.
    ///
    /// Plugins rarely check the status of such a call, so that its effect would be lost without a
    /// trace. It is not recorded as a violation, which could suspend the plugin: the text may come
    /// from a server. Does nothing for other texts.
    ///
    /// - Parameters:
    ///   - refused: What is wrong with the text.
    ///   - function: What the plugin called.
    func reportRefusal(_ refused: RefusedText, of function: String) {
        guard case .notUTF8 = refused else { return }
        observer?.pluginDidLog(
            PluginLogLine(
                plugin: id, level: .warning, message: "\(function) was refused: \(refused.fact)"))
    }
}

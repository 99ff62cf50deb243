import COutletPlugin

/// The functions of the host that a plugin calls.
///
/// Thread: any, for every member.
public struct Host: @unchecked Sendable {
    // @unchecked because the table behind the pointer never changes while the instance exists.
    let table: UnsafePointer<outlet_host>
    /// The path of a directory for files of the instance, which only the user can enter and which
    /// is the same in the next run; `nil` if the program has none for it.
    public let dataDirectory: String?
    /// Keeps the table of a fake host alive, as long as a plugin uses it; `nil` for others.
    private let owner: AnyObject?

    package init(
        table: UnsafePointer<outlet_host>, dataDirectory: String? = nil, owner: AnyObject? = nil
    ) {
        self.table = table
        self.dataDirectory = dataDirectory
        self.owner = owner
    }

    /// The host's name.
    public var name: String { table.pointee.name.string }
    /// The host's version.
    public var version: String { table.pointee.version.string }

    /// The importance of a log line.
    public enum LogLevel: UInt32, Sendable {
        /// For the plugin's developers.
        case debug = 0
        /// Normal operation.
        case info = 1
        /// Unexpected, but handled.
        case warning = 2
        /// A failure.
        case error = 3
    }

    /// Writes a line to the host's log.
    ///
    /// The host cannot redact secrets: do not log any.
    ///
    /// - Parameters:
    ///   - level: The importance of the line.
    ///   - message: The text; cut off after 4 KiB.
    ///   - facts: Names and values to add to the line, in this order; each is cut off after 4 KiB.
    ///     With more than 32 the line is dropped.
    public func log(
        _ level: LogLevel, _ message: String, facts: KeyValuePairs<String, String> = [:]
    ) {
        let facts = facts.map {
            (name: $0.key.start(ofUTF8: 4096), value: $0.value.start(ofUTF8: 4096))
        }
        withView(message.start(ofUTF8: 4096)) { message in
            withFields(facts) { fields, count in
                _ = table.pointee.log(table, outlet_call(), level.rawValue, message, fields, count)
            }
        }
    }

    /// Writes a line of the level ``LogLevel/info`` to the host's log.
    ///
    /// The host cannot redact secrets: do not log any.
    ///
    /// - Parameters:
    ///   - message: The text; cut off after 4 KiB.
    ///   - facts: Names and values to add to the line, in this order; each is cut off after 4 KiB.
    ///     With more than 32 the line is dropped.
    public func log(_ message: String, facts: KeyValuePairs<String, String> = [:]) {
        log(.info, message, facts: facts)
    }

    /// Settles a hook that returns nothing, such as `adapt`, `prepare` or `process`.
    func settle(_ completion: outlet_completion, _ error: (any Error)?) {
        let words = error.map { PluginError.words(of: $0) } ?? (code: "", message: "")
        let isRefusal = (error as? PluginError)?.isRefusal == true
        let status =
            error == nil ? OUTLET_OK : isRefusal ? OUTLET_E_DENIED : OUTLET_E_FAILED
        withView(words.code) { code in
            withView(words.message) {
                _ = table.pointee.done(table, completion, status, code, $0)
            }
        }
    }

    /// Settles a `retry`.
    ///
    /// - Parameter delay: In nanoseconds; for `OUTLET_RETRY_AFTER` only.
    func settleRetry(
        _ completion: outlet_completion, _ verdict: Int32, after delay: UInt64 = 0,
        _ words: (code: String, message: String) = ("", "")
    ) {
        withView(words.code) { code in
            withView(words.message) {
                _ = table.pointee.retry_done(table, completion, verdict, delay, code, $0)
            }
        }
    }

    /// Settles a `redirect`.
    func settleRedirect(
        _ completion: outlet_completion, _ verdict: Int32,
        _ words: (code: String, message: String) = ("", "")
    ) {
        withView(words.code) { code in
            withView(words.message) {
                _ = table.pointee.redirect_done(table, completion, verdict, code, $0)
            }
        }
    }

    func quiesced() {
        _ = table.pointee.quiesced(table)
    }

    /// Passes the reason of a failure to the host, and returns the status that the call must
    /// return.
    func fail(_ call: outlet_call, _ error: any Error) -> outlet_status {
        let (code, message) = PluginError.words(of: error)
        withView(code) { code in
            withView(message) { _ = table.pointee.fail(table, call, code, $0) }
        }
        let status = (error as? PluginError)?.status ?? OUTLET_E_FAILED
        return status < 0 ? status : OUTLET_E_FAILED
    }
}

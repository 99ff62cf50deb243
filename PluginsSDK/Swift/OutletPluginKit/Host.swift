import COutletPlugin

/// The way back from a plugin to its host.
///
/// Thread: any, for every member.
public struct Host: @unchecked Sendable {
    // @unchecked because the table behind the pointer never changes while the instance lives.
    let table: UnsafePointer<outlet_host>

    package init(table: UnsafePointer<outlet_host>) {
        self.table = table
    }

    /// The host's name.
    public var name: String { table.pointee.name.string }
    /// The host's version.
    public var version: String { table.pointee.version.string }

    /// How much a line of the log matters.
    public enum LogLevel: UInt32, Sendable {
        /// For the plugin's developers.
        case debug = 0
        /// Worth knowing.
        case info = 1
        /// Something is not as it should be.
        case warning = 2
        /// Something failed.
        case error = 3
    }

    /// Writes a line to the host's log; no secrets, the host does not know which they are.
    ///
    /// - Parameters:
    ///   - message: The text, of which the host takes 4 KiB.
    ///   - facts: What the line says beside the text, at most 32, in this order.
    public func log(
        _ level: LogLevel = .info, _ message: String,
        facts: KeyValuePairs<String, String> = [:]
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

    /// Settles an `adapt`, a `prepare` or a `process`.
    func settle(_ completion: outlet_completion, _ error: (any Error)?) {
        let words = error.map { PluginError.words(of: $0) } ?? (code: "", message: "")
        let status = error == nil ? OUTLET_OK : OUTLET_E_FAILED
        withView(words.code) { code in
            withView(words.message) {
                _ = table.pointee.done(table, completion, status, code, $0)
            }
        }
    }

    /// Settles a `retry`; the time is in nanoseconds.
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

    /// Gives the host the reason of the failure that `call` is about to return.
    func fail(_ call: outlet_call, _ error: any Error) -> outlet_status {
        let (code, message) = PluginError.words(of: error)
        withView(code) { code in
            withView(message) { _ = table.pointee.fail(table, call, code, $0) }
        }
        let status = (error as? PluginError)?.status ?? OUTLET_E_FAILED
        return status < 0 ? status : OUTLET_E_FAILED
    }
}

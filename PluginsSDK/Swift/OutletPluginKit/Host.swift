import COutletPlugin

/// The way back from a plugin to its host.
///
/// Thread: any, for every member.
public struct Host: @unchecked Sendable {
    // @unchecked because the table behind the pointer never changes while the instance lives.
    let table: UnsafePointer<outlet_host>
    private let owner: outlet_owner

    init(table: UnsafePointer<outlet_host>, owner: outlet_owner) {
        self.table = table
        self.owner = owner
    }

    /// The host's name.
    public var name: String { table.pointee.name.string }
    /// The host's version.
    public var version: String { table.pointee.version.string }

    /// How much a line of the log matters.
    public enum LogLevel: UInt32, Sendable {
        /// For whoever works on the plugin.
        case debug = 0
        /// Worth knowing.
        case info = 1
        /// Something is not as it should be.
        case warning = 2
        /// Something failed.
        case error = 3
    }

    /// Writes a line to the host's log; no secrets, the host does not know which they are.
    public func log(_ level: LogLevel = .info, _ message: String) {
        withView(message) { table.pointee.log(owner, level.rawValue, $0) }
    }

    func quiesced() {
        _ = table.pointee.quiesced(owner)
    }

    /// Gives the host the reason of the failure that `call` is about to return.
    func fail(_ call: outlet_call, _ error: any Error) -> outlet_status {
        let message = (error as? PluginError)?.message ?? String(describing: error)
        withView(message) { table.pointee.fail(call, $0) }
        let status = (error as? PluginError)?.status ?? OUTLET_E_FAILED
        return status < 0 ? status : OUTLET_E_FAILED
    }
}

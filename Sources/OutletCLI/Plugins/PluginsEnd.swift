import Outlet

/// Reports what plugins did wrong until and while they are shut down.
///
/// Made immediately before the shutdown.
struct PluginsEnd {
    private let host: PluginHost
    private let console: Console
    /// What had changed in the process before.
    private let changes: [String]
    /// The number of violations before.
    private let faults: Int

    /// Reports what the plugins have changed in the process so far.
    init(of host: PluginHost, console: Console) {
        self.host = host
        self.console = console
        changes = host.processChanges
        faults = Self.faults(of: host)
        console.report(changes, by: host)
    }

    /// Reports the end of the shutdown.
    ///
    /// - Parameter abandoned: The ids of the plugins that did not end in time.
    /// - Returns: Whether all plugins ended in time, and broke no rule meanwhile.
    func report(_ abandoned: [String]) -> Bool {
        console.report(abandoned: abandoned)
        let more = host.processChanges.filter { !changes.contains($0) }
        console.report(more, by: host)
        return abandoned.isEmpty && more.isEmpty && Self.faults(of: host) == faults
    }

    private static func faults(of host: PluginHost) -> Int {
        host.status.reduce(0) { $0 + $1.faults.values.reduce(0, +) }
    }
}

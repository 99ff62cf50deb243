extension PluginHost {
    /// The calls into plugins of this process that have not returned, and the answers that are
    /// pending; the longest-running first.
    ///
    /// A call cannot be interrupted. A program that does not want to wait for one can only report
    /// it and exit.
    ///
    /// Thread: any.
    public static var activeCalls: [PluginCall] {
        let calls =
            HandleTable.shared.allOwners.flatMap {
                $0.activeCalls + ($0.instance?.pendingCalls ?? [])
            }
            + PluginLoader.loading
        return calls.sorted { $0.duration > $1.duration }
    }
}

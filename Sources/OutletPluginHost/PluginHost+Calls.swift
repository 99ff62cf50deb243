extension PluginHost {
    /// The calls into plugins of this process that have not come back, or whose answers are waited for;
    /// those that take longest first.
    ///
    /// Nobody can end such a call from outside: a program that will not wait for one can only say
    /// whose it is, and end itself.
    ///
    /// Thread: any.
    public static var callsUnderWay: [PluginCall] {
        let calls =
            HandleTable.shared.allOwners.flatMap {
                $0.callsUnderWay + ($0.instance?.promises ?? [])
            }
            + PluginLoader.loading
        return calls.sorted { $0.duration > $1.duration }
    }
}

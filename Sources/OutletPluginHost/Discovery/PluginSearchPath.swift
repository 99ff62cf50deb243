import OutletHTTP

/// The default directories of plugins.
public enum PluginSearchPath {
    /// Returns the directories that are searched for plugins, in order.
    ///
    /// These are the entries of `OUTLET_PLUGIN_PATH` (separated by colons) if it is set and not
    /// empty, else the user's directory and then the system's. Relative entries are left out, so
    /// the current directory is never searched. The directories need not exist.
    ///
    /// - Parameter environment: The environment variables; `HOME`, `XDG_DATA_HOME` and
    ///   `OUTLET_PLUGIN_PATH` are read.
    /// - Returns: Absolute paths.
    public static func directories(environment: [String: String]) -> [String] {
        if let path = environment["OUTLET_PLUGIN_PATH"], !path.isEmpty {
            return path.parts(separatedBy: ":").map(String.init).filter(isAbsolute)
        }
        var data = environment["XDG_DATA_HOME"] ?? ""
        if !isAbsolute(data), let home = environment["HOME"], isAbsolute(home) {
            data = "\(home)/.local/share"
        }
        let user = isAbsolute(data) ? ["\(data)/outlet/plugins"] : []
        return user + ["/usr/local/lib/outlet/plugins", "/usr/lib/outlet/plugins"]
    }

    private static func isAbsolute(_ path: String) -> Bool { path.startsWithBytes(of: "/") }
}

/// Where plugins are looked for when no directory is named.
public enum PluginSearchPath {
    /// The directories in order: those of `OUTLET_PLUGIN_PATH` (separated by colons) if it is
    /// set, else the user's and then the system's; never the current directory.
    ///
    /// Relative entries are left out. The directories need not exist.
    ///
    /// - Parameter environment: The variables; `HOME`, `XDG_DATA_HOME` and `OUTLET_PLUGIN_PATH`
    ///   are read.
    public static func directories(environment: [String: String]) -> [String] {
        if let path = environment["OUTLET_PLUGIN_PATH"], !path.isEmpty {
            return path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        }
        var data = environment["XDG_DATA_HOME"] ?? ""
        if !data.hasPrefix("/"), let home = environment["HOME"], home.hasPrefix("/") {
            data = "\(home)/.local/share"
        }
        let user = data.hasPrefix("/") ? ["\(data)/outlet/plugins"] : []
        return user + ["/usr/local/lib/outlet/plugins", "/usr/lib/outlet/plugins"]
    }
}

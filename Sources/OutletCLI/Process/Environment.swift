import Glibc

/// The variables that the program looks at.
enum Environment {
    private static let names = [
        "CLICOLOR", "CLICOLOR_FORCE", "HOME", "NO_COLOR", "OUTLET_PLUGIN_PATH", "TERM",
        "XDG_DATA_HOME",
    ]

    /// Those that are set; reading all there are would cost more than parsing the command line.
    static var current: [String: String] {
        var variables: [String: String] = [:]
        for name in names {
            if let value = getenv(name) { variables[name] = String(cString: value) }
        }
        return variables
    }
}

import Glibc

/// The variables that the program looks at.
enum Environment {
    /// Of these matters only whether they are there, and a few words.
    private static let choices = ["CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR", "TERM"]
    /// Of the directories of plugins.
    private static let paths = [pluginPath, "HOME", "XDG_DATA_HOME"]
    private static let pluginPath = "OUTLET_PLUGIN_PATH"

    /// Those that are set; reading all there are would cost more than parsing the command line.
    ///
    /// A path that is not UTF-8 is left out: repaired, it would lead somewhere else.
    static var current: [String: String] {
        var variables: [String: String] = [:]
        for name in choices {
            if let value = getenv(name) { variables[name] = String(cString: value) }
        }
        for name in paths {
            if let value = getenv(name) { variables[name] = String(validatingCString: value) }
        }
        return variables
    }

    /// Refuses a variable of the program's own that is not UTF-8.
    static func check() throws(CommandError) {
        guard let value = getenv(pluginPath), String(validatingCString: value) == nil else {
            return
        }
        throw .usage(
            "\(pluginPath): the variable's value is not UTF-8",
            advice: "set it to text in UTF-8, or unset it")
    }
}

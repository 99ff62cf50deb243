import FoundationEssentials
import Glibc

/// The program's file, and the environment variables that the program reads itself.
enum Environment {
    /// The variables about colours and the wire log, which are compared with a few fixed values.
    private static let choices = [
        "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR", "OUTLET_DEBUG", "TERM",
    ]
    /// The variables with paths, of plugins above all.
    private static let paths = [pluginPath, "HOME", "OUTLET_SDK", "PATH", "XDG_DATA_HOME"]
    private static let pluginPath = "OUTLET_PLUGIN_PATH"

    /// The values of these variables, if set.
    ///
    /// The rest of the environment is not read, because that would take longer than parsing the
    /// command line. A path that is not valid UTF-8 is omitted, because a repaired one would name
    /// another directory.
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

    /// The path of the program's file; `nil` if `/proc` is not mounted.
    static var program: String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// Checks that `OUTLET_PLUGIN_PATH` is valid UTF-8.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if it is not.
    static func check() throws(CommandError) {
        guard let value = getenv(pluginPath), String(validatingCString: value) == nil else {
            return
        }
        throw .usage(
            "\(pluginPath): the variable's value is not UTF-8",
            advice: "set it to text in UTF-8, or unset it")
    }
}

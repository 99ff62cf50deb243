import FoundationEssentials
import Outlet

/// Finds the sample plugins if the command line names no directory.
enum SamplePlugins {
    /// Returns the place of the sample plugins; empty if there are none.
    ///
    /// That is the first folder that exists: `plugins` beside the program, the installed folder, a
    /// folder of the plugin search path. If there is none, the libraries that a build leaves beside
    /// the program.
    static func places(environment: [String: String]) -> [String] {
        guard let directory = Environment.program?.cutAtLast("/")?.head else { return [] }
        let folders =
            ["\(directory)/plugins", "\(directory)/../lib/outlet/plugins"]
            + PluginSearchPath.directories(environment: environment)
        if let folder = folders.first(where: FileManager.default.fileExists) { return [folder] }
        return ["libpacer.so", "librequest-id.so"].map { "\(directory)/\($0)" }
            .filter(FileManager.default.fileExists)
    }
}

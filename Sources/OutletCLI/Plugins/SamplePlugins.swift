import FoundationEssentials
import Outlet

/// Where the sample plugins are when no directory is named.
enum SamplePlugins {
    /// The first place that is there: a folder `plugins` beside the program, the installed one,
    /// then the files that a build leaves beside the program; empty when there is none.
    static func places(environment: [String: String]) -> [String] {
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        guard let directory = program?.cutAtLast("/")?.head else { return [] }
        let folders =
            ["\(directory)/plugins", "\(directory)/../lib/outlet/plugins"]
            + PluginSearchPath.directories(environment: environment)
        if let folder = folders.first(where: FileManager.default.fileExists) { return [folder] }
        return ["libpacer.so", "librequest-id.so"].map { "\(directory)/\($0)" }
            .filter(FileManager.default.fileExists)
    }
}

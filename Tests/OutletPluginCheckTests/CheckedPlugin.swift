import OutletPluginCheck
import OutletTestSupport

/// Runs tests of the checker on a plugin from the build directory.
///
/// - Parameter limit: The time limit of each test in seconds, multiplied by `patience`.
func checked(
    _ product: String, _ configuration: [String: String] = [:], _ tests: [CheckTest],
    seed: UInt64 = 1, limit: Int = 60
) async throws -> [CheckResult] {
    let folder = try TemporaryDirectory()
    var check = PluginCheck(file: try folder.copy(product), seed: seed)
    check.configuration = configuration
    check.tests = tests
    check.limit = .seconds(limit * patience)
    check.program = try Products.path("outlet")
    return try await offPool { [check] in
        let results = Recorder<CheckResult>()
        check.run { results.record($0) }
        return results.values
    }
}

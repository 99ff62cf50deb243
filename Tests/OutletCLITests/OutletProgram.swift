import OutletTestSupport

/// Runs the program `outlet` and waits for its end.
func outlet(
    _ arguments: String..., environment: [String: String] = [:], standardInput: [UInt8] = []
) async throws -> Program.Result {
    try await Program.run(
        Products.path("outlet"), arguments, environment: environment,
        standardInput: standardInput)
}

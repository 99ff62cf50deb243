import Outlet

/// `outlet --version`.
struct VersionCommand {
    let console: Console

    func run() throws -> ExitCode {
        try console.output.write(
            """
            outlet \(outletVersion)
            plugin ABI \(PluginHost.abiVersion)
            \(CurlTransport.libraryVersion)

            """)
        return .ok
    }
}

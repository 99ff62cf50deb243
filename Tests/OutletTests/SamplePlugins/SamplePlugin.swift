import FoundationEssentials
import Outlet
import OutletTestSupport

/// A built plugin of `SamplePlugins`.
struct SamplePlugin {
    /// The last part of its id and of its file's name.
    let name: String

    private static let root = String(
        #filePath.dropLast("/Tests/OutletTests/SamplePlugins/SamplePlugin.swift".count))

    /// The plugin's id.
    var id: String { "dev.outlet.\(name)" }

    /// Loads the plugin after other files.
    ///
    /// - Parameter failsOpen: Whether requests continue if the plugin fails, except for refusals.
    func host(
        _ configuration: String = "{}", failsOpen: Bool = false, others: [String] = [],
        othersConfiguration: [String: String] = [:]
    ) throws -> PluginHost {
        var options = PluginHost.Options()
        options.configuration = othersConfiguration.merging([id: configuration]) { $1 }
        var settings = PluginSettings()
        settings.failsOpen = failsOpen
        options.settings = [id: settings]
        return try PluginHost.load(
            try (others + ["lib\(name).so"]).map { .file(try Products.path($0)) }, options: options)
    }

    /// A session with the plugin.
    func session(_ configuration: String = "{}") throws -> PluginSession {
        PluginSession(try host(configuration))
    }

    /// The error of the plugin's start with a configuration; `nil` if it starts.
    func refusal(of configuration: String) -> String? {
        do {
            _ = try host(configuration)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Compiles a C program with a sample's sources as includes, and returns its output.
    static func run(
        _ code: String, including directory: String, flags: [String] = []
    ) async throws -> String {
        let folder = try TemporaryDirectory()
        let source = try folder.write(code, to: "check.c")
        let compiled = try await Program.run(
            "/usr/bin/env",
            [
                "cc", "-std=c11", "-I", "\(root)/PluginsSDK/C/include", "-I",
                "\(root)/SamplePlugins/\(directory)", source, "-o", folder.path("check"),
            ] + flags)
        guard compiled.exitCode == 0 else { throw TestSupportError(compiled.errorOutput) }
        return try await Program.run(folder.path("check")).output
    }
}

/// A session and the host of its plugins; a test retains both.
struct PluginSession: Sendable {
    let session: Session
    let host: PluginHost

    init(_ host: PluginHost) {
        var configuration = SessionConfiguration.default
        configuration.proxy = .none
        session = Session(configuration: configuration, plugins: host)
        self.host = host
    }

    /// Sends and validates a request, and returns its response.
    func response(to address: String, headers: HTTPHeaders? = nil) async -> DataResponse<
        String, SessionError
    > {
        await response(to: HTTPRequest(url: URL(string: address)), headers: headers)
    }

    /// Sends and validates a request, and returns its response.
    func response(
        to request: HTTPRequest, headers: HTTPHeaders? = nil
    ) async -> DataResponse<String, SessionError> {
        var request = request
        for header in headers ?? [:] { request.headers.append(header) }
        let response = await session.request(request).validate().serializingString().response
        withExtendedLifetime(self) {}
        return response
    }
}

extension SessionError {
    /// The underlying error of the plugin.
    var pluginError: PluginError? {
        underlyingError as? PluginError
            ?? (underlyingError as? SessionError)?.pluginError
    }
}

import FoundationEssentials
import OutletTestSupport

@testable import OutletPluginHost

/// A temporary plugin directory for one test, with plugins from the build directory.
final class PluginFolder: Sendable {
    let directory: TemporaryDirectory

    /// Makes a directory and copies plugins into it.
    ///
    /// - Parameters:
    ///   - faulty: The names of fixtures, such as `NoEntry` for `libFaultyNoEntry.so`.
    ///   - samples: The file names of other plugins.
    init(faulty: String..., samples: [String] = []) throws {
        directory = try TemporaryDirectory()
        for name in faulty { try copy("libFaulty\(name).so") }
        for name in samples { try copy(name) }
    }

    var path: String { directory.path }

    /// Copies a plugin from the build directory into the folder.
    ///
    /// - Returns: The path of the copy.
    @discardableResult
    func copy(_ product: String, as name: String? = nil) throws -> String {
        let target = directory.path(name ?? product)
        try FileManager.default.copyItem(atPath: Products.path(product), toPath: target)
        return target
    }

    /// Compiles C code, which may use `faulty.h`, to a library in the folder or below it.
    ///
    /// - Returns: The path of the library.
    @discardableResult
    func compile(_ code: String, as name: String, _ flags: String...) async throws -> String {
        let root = #filePath.dropLast("/Tests/OutletPluginHostTests/PluginFolder.swift".count)
        let source = try directory.write("#include \"faulty.h\"\n\(code)\n", to: "\(name).c")
        let result = try await Program.run(
            "/usr/bin/env",
            [
                "cc", "-shared", "-fPIC", "-I", "\(root)/PluginsSDK/C/include", "-I",
                "\(root)/Tests/FaultyPlugins", source, "-o", name,
            ] + flags,
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"], directory: path)
        guard result.exitCode == 0 else {
            throw TestSupportError("compile: \(name): \(result.errorOutput)")
        }
        return directory.path(name)
    }

    /// Loads the plugins of the folder; those that cannot be used are in the host's `failures`.
    ///
    /// - Parameter failsOpen: Whether requests continue when a plugin with a configuration fails.
    func load(
        configuration: [String: String] = [:], observer: (any PluginObserver)? = nil,
        answerDeadline: Duration = .seconds(30), failsOpen: Bool = false,
        change: (inout PluginHost.Options) -> Void = { _ in }
    ) throws -> PluginHost {
        var options = PluginHost.Options()
        options.configuration = configuration
        options.observer = observer
        options.answerDeadline = answerDeadline
        options.loadPolicy = .usable
        if failsOpen {
            for id in configuration.keys {
                options.settings[id, default: PluginSettings()].failsOpen = true
            }
        }
        change(&options)
        return try PluginHost.load(directories: [path], options: options)
    }
}

/// Records the activities, log lines and misbehaviours of plugins.
final class ActivityRecorder: PluginObserver {
    let activities = Recorder<PluginActivity>()
    let lines = Recorder<PluginLogLine>()
    let misbehaviours = Recorder<PluginMisbehaviour>()

    func pluginDidAct(_ activity: PluginActivity) { activities.record(activity) }
    func pluginDidLog(_ line: PluginLogLine) { lines.record(line) }
    func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour) {
        misbehaviours.record(misbehaviour)
    }
}

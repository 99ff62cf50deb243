import FoundationEssentials
import OutletTestSupport

@testable import OutletPluginHost

/// A plugin directory of a test's own, filled with built plugins.
final class PluginFolder: Sendable {
    let directory: TemporaryDirectory

    /// - Parameter faulty: Names of fixtures, such as `NoEntry`.
    init(faulty: String..., samples: [String] = []) throws {
        directory = try TemporaryDirectory()
        for name in faulty { try copy("libFaulty\(name).so") }
        for name in samples { try copy(name) }
    }

    var path: String { directory.path }

    /// Copies a product into the folder, with mode 0755.
    @discardableResult
    func copy(_ product: String, as name: String? = nil) throws -> String {
        let target = directory.path(name ?? product)
        try FileManager.default.copyItem(atPath: Products.path(product), toPath: target)
        return target
    }

    /// Compiles a library in C into the folder, or below it; `faulty.h` helps.
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

    /// Loads what can be used of the folder.
    func load(
        configuration: [String: String] = [:], observer: (any PluginObserver)? = nil,
        answerDeadline: Duration = .seconds(30),
        change: (inout PluginHost.Options) -> Void = { _ in }
    ) throws -> PluginHost {
        var options = PluginHost.Options()
        options.configuration = configuration
        options.observer = observer
        options.answerDeadline = answerDeadline
        options.loadPolicy = .usable
        change(&options)
        return try PluginHost.load(directories: [path], options: options)
    }
}

/// Records what plugins do.
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

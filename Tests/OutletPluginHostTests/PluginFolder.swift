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

    /// Loads what can be used of the folder.
    func load(
        configuration: [String: String] = [:], observer: (any PluginObserver)? = nil,
        answerDeadline: Duration = .seconds(30)
    ) throws -> PluginHost {
        var options = PluginHost.Options()
        options.configuration = configuration
        options.observer = observer
        options.answerDeadline = answerDeadline
        options.loadPolicy = .usable
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

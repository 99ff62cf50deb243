import CPluginWatch

/// What a crash or an `exit()` inside of a plugin leaves behind: one line that names the plugin, the hook
/// and the request.
///
/// For programs, because it takes signals and `atexit`, which are the process' own.
public enum PluginWatch {
    /// Reports from now on.
    ///
    /// A crash ends the process by its signal, as it would have; `exit()` and `quick_exit()` by a plugin
    /// end it with that code, whatever the plugin gave, and so does `_exit()` in a program that says so
    /// (`CProcessExit`). A copy that a plugin makes by `fork()` ends when it comes back. The system calls
    /// themselves, and `execve()`, leave no trace.
    ///
    /// - Parameters:
    ///   - exitCode: What the process ends with.
    ///   - descriptor: Where the line goes; kept from plugins, or it is lost where one closes stderr.
    public static func begin(exitCode: Int32, reportingTo descriptor: Int32 = 2) {
        cpluginwatch_report(exitCode, descriptor)
    }

    /// Says that the program itself is about to call `exit()`.
    public static func expectExit() { cpluginwatch_expect_exit() }

    /// Whether anything is reported: the subject of a call is asked for only then.
    static var isOn: Bool { cpluginwatch_is_on() }

    /// Runs a plugin's code.
    ///
    /// - Parameter subject: What the call is about, secrets left out.
    static func watching<Result>(
        _ plugin: String, _ moment: String, about subject: String?, _ body: () -> Result
    ) -> Result {
        guard isOn else { return body() }
        cpluginwatch_enter(plugin, moment, subject ?? "")
        defer { cpluginwatch_leave() }
        return body()
    }
}

/// What a call into a plugin may be about.
protocol WatchedSubject: Sendable {
    /// It in a few words, secrets left out.
    var name: String { get }
    /// A hook of an instance is about to be called with it; `false` where it is too late for that hook.
    func enter(_ instance: PluginInstance, for hook: PluginHook) -> Bool
    /// That hook is off the stack.
    func leave(_ instance: PluginInstance)
}

extension WatchedSubject {
    /// Belongs to no call of a session.
    func enter(_ instance: PluginInstance, for hook: PluginHook) -> Bool { true }
    /// Belongs to no call of a session.
    func leave(_ instance: PluginInstance) {}
}

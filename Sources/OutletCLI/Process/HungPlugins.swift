import Dispatch
import Glibc
import Outlet

/// Ends the process when it is to end, and a plugin does not come back.
///
/// Nobody can end a call into a plugin from outside, so the process ends around it.
enum HungPlugins {
    /// How long a call that is under way when the program is to end may still take, in nanoseconds.
    private static let patience: UInt64 = 500_000_000

    /// Ends the process from now on as soon as a call into a plugin has lasted too long.
    ///
    /// - Parameter error: Why the program is to end, and its exit code; the plugin and the hook are
    ///   added to the message.
    static func end(_ console: Console, with error: CommandError) {
        check(console, error, after: .nanoseconds(Int(patience)))
    }

    private static func check(
        _ console: Console, _ error: CommandError, after delay: DispatchTimeInterval
    ) {
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) {
            // Those that end their work have a time of their own for it.
            let isHung = PluginHost.callsUnderWay.contains {
                $0.duration >= patience && $0.hook != .quiesce && $0.hook != .destroy
            }
            if isHung { endNow(console, with: error) }
            check(console, error, after: .milliseconds(100))
        }
    }

    /// Ends the process; says which call into a plugin was under way, if one was.
    static func endNow(_ console: Console, with error: CommandError) -> Never {
        if let call = PluginHost.callsUnderWay.first {
            let time = Quantity.duration(Int64(clamping: call.duration / 1000))
            console.report(
                CommandError(
                    error.exitCode,
                    "\(error.message): plugin \(call.plugin) has not come back from "
                        + "\(call.hook.rawValue) for \(time)", advice: error.advice))
        }
        // The plugin's thread runs on: nothing may be taken down under it.
        _exit(error.exitCode.rawValue)
    }
}

extension Console {
    /// Says which plugins did not end in time, and where they are.
    func report(abandoned plugins: [String]) {
        let calls = PluginHost.callsUnderWay
        for id in plugins {
            let hook = calls.first { $0.plugin == id }?.hook.rawValue
            report(
                "outlet: plugin \(id): "
                    + (hook.map { "has not come back from \($0)" } ?? "did not end in time")
                    + ", and was left behind")
        }
    }
}

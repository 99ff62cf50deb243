import CPluginCheck
import Glibc
import OutletHTTP
import OutletPluginHost

/// Process-wide state that plugins must not change, compared around each hook of a test.
///
/// Unlike with ``RestorableProcessState``, which the host records while it loads a library, nothing is
/// restored, and handlers that any code has set count.
struct ProcessSnapshot: Equatable {
    private static let directoryName = "the current directory"
    private var facts: [String: String] = [:]
    private let root = KernelState.Directory.root
    private let identity = Identity()

    /// Records the current state.
    init() {
        for signal in Int32(1)...64 where signal != SIGKILL && signal != SIGSTOP {
            var action = sigaction()
            guard sigaction(signal, nil, &action) == 0 else { continue }
            let handler = withUnsafeBytes(of: action) { $0.loadUnaligned(as: UInt.self) }
            facts["the handler of \(signalName(signal))"] = "\(handler)"
        }
        facts["the umask"] = ProcessStatus()["Umask:"]
        if let path = getcwd(nil, 0) {
            facts[Self.directoryName] = String(cString: path)
            free(path)
        }
        facts["the locale"] = setlocale(LC_ALL, nil).map { String(cString: $0) }
        facts["the environment"] = RestorableProcessState.currentEnvironment.joined(separator: "\n")
        for limit in ResourceLimit.all {
            facts["the limit of \(limit.name)"] = limit.values
        }
        facts[RestorableProcessState.stackName] = "\(RestorableProcessState.currentStackSize)"
        for (name, descriptor) in [("input", STDIN_FILENO), ("output", 1), ("error", 2)] {
            var status = stat()
            let isOpen = fstat(descriptor, &status) == 0
            let flags = fcntl(descriptor, F_GETFL)
            facts["standard \(name)"] =
                isOpen ? "\(status.st_dev) \(status.st_ino) \(flags)" : "closed"
        }
        for (name, timer) in Self.timers {
            var value = itimerval()
            guard getitimer(timer, &value) == 0 else { continue }
            // The remaining time changes by itself.
            let isSet = value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0
            let interval = value.it_interval
            facts["the timer \(name)"] =
                isSet ? "every \(interval.tv_sec) s \(interval.tv_usec) us" : "off"
        }
    }

    /// The names of the items that differ from an earlier state, sorted.
    func changes(since before: ProcessSnapshot) -> [String] {
        before.identity.changes(in: identity)
            + facts.keys.sorted().filter { name in
                // Below another root directory, which `KernelState` compares, the path is another one.
                guard name != Self.directoryName || root == before.root else { return false }
                return facts[name] != before.facts[name]
            }
    }

    private static let timers = [
        ("ITIMER_REAL", ITIMER_REAL), ("ITIMER_VIRTUAL", ITIMER_VIRTUAL),
        ("ITIMER_PROF", ITIMER_PROF),
    ].map { ($0, __itimer_which_t($1.rawValue)) }
}

extension cplugincheck_thread {
    /// The names of the items that differ from an earlier state.
    func changes(since before: cplugincheck_thread) -> [String] {
        var names: [String] = []
        if blocked_signals != before.blocked_signals { names.append("the blocked signals") }
        if floating_point != before.floating_point {
            names.append("how its thread rounds or traps")
        }
        if locale != before.locale { names.append("the locale of its thread") }
        if cancel_type != before.cancel_type || cancel_state != before.cancel_state {
            names.append("how its thread can be cancelled")
        }
        if name != before.name { names.append("the name of its thread") }
        return names
    }
}

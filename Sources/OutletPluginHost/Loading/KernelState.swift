import CPluginLoad
import Glibc
import OutletHTTP

/// What the kernel keeps for the calling thread, and system calls of a plugin can change for good:
/// filters, privileges, namespaces, priority.
///
/// None of it is restored, because most of it cannot be.
///
/// Thread: that whose state is recorded; both states of a comparison must be of the same thread.
package struct KernelState: Equatable, Sendable {
    /// The name of a change of the session that the process belongs to.
    static let sessionName = "the session of processes"
    /// The name of a change of the group that the process belongs to.
    static let groupName = "the process group"

    /// The fields of `/proc/thread-self/status`, with the name of what they show.
    private static let fields = [
        ("CapInh:", "the capabilities"), ("CapPrm:", "the capabilities"),
        ("CapEff:", "the capabilities"), ("CapBnd:", "the capabilities"),
        ("CapAmb:", "the capabilities"), ("NSsid:", sessionName),
        ("NSpgid:", groupName), ("Cpus_allowed:", "the processors of its thread"),
    ]
    private static let namespaces = [
        "cgroup", "ipc", "mnt", "net", "pid_for_children", "time_for_children", "user", "uts",
    ]
    /// The name of a change of the root directory.
    package static let rootName = "the root directory"
    private static let otherNames = [
        "the filters of system calls", "the namespaces", rootName,
        "the priority of its thread", "the settings of prctl()",
    ]
    /// All names of ``changes(since:)``.
    static let names = fields.map(\.1) + otherNames

    /// The facts by the name of what they show.
    private var facts: [String: [String]] = [:]

    /// Records the current state.
    package init() {
        let status = ProcessStatus()
        for (field, name) in Self.fields {
            if let value = status[field] { facts[name, default: []].append(value) }
        }
        // Without those of the host, which it adds when a library has been loaded.
        if let filters = status["Seccomp_filters:"].flatMap({ Int($0) }) {
            facts["the filters of system calls"] = ["\(filters - PluginWatch.filterCount)"]
        }
        let namespaces = Self.namespaces.map { Self.file("/proc/thread-self/ns/\($0)") }
        // All are missing where /proc is, as below another root directory.
        if namespaces.contains(where: { !$0.isEmpty }) { facts["the namespaces"] = namespaces }
        facts[Self.rootName] = [Self.file("/")]
        facts["the priority of its thread"] = [
            "\(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)) \(sched_getscheduler(0))"
        ]
        facts["the settings of prctl()"] = Self.settings.map(String.init)
    }

    private static var settings: [Int32] {
        let count = cpluginload_setting_count
        return [Int32](unsafeUninitializedCapacity: count) {
            cpluginload_settings($0.baseAddress)
            $1 = count
        }
    }

    /// The device and the number of a file; empty if there is none.
    private static func file(_ path: String) -> String {
        var status = stat()
        return stat(path, &status) == 0 ? "\(status.st_dev) \(status.st_ino)" : ""
    }

    /// A directory of the process, whatever its path is.
    package struct Directory: Equatable, Sendable {
        /// The present root directory.
        package static var root: Directory { Directory(file: KernelState.file("/")) }

        private let file: String
    }

    /// The names of what differs from an earlier state of the thread, sorted.
    ///
    /// What cannot be read, for example without free descriptors, is not compared.
    package func changes(since before: KernelState) -> [String] {
        facts.keys.sorted().filter { name in
            before.facts[name].map { $0 != facts[name] } ?? false
        }
    }
}

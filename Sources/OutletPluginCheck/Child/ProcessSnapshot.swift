import Glibc
import OutletHTTP

/// Process-wide state that plugins must not change.
struct ProcessSnapshot: Equatable {
    private var facts: [String: String] = [:]

    /// Records the current state.
    init() {
        for signal in Int32(1)...31 where signal != SIGKILL && signal != SIGSTOP {
            var action = sigaction()
            guard sigaction(signal, nil, &action) == 0 else { continue }
            let handler = withUnsafeBytes(of: action) { $0.loadUnaligned(as: UInt.self) }
            facts["the handler of signal \(signal)"] = "\(handler)"
        }
        facts["the umask"] = Self.status(of: "Umask:")
        if let path = getcwd(nil, 0) {
            facts["the current directory"] = String(cString: path)
            free(path)
        }
        facts["the locale"] = setlocale(LC_ALL, nil).map { String(cString: $0) }
        var variables: [String] = []
        var entry = environ
        while let text = entry.pointee {
            variables.append(String(cString: text))
            entry += 1
        }
        facts["the environment"] = variables.joined(separator: "\n")
        for (name, resource) in Self.limits {
            var limit = rlimit()
            guard getrlimit(resource, &limit) == 0 else { continue }
            facts["the limit \(name)"] = "\(limit.rlim_cur) \(limit.rlim_max)"
        }
        for (name, descriptor) in [("input", STDIN_FILENO), ("output", 1), ("error", 2)] {
            var status = stat()
            let isOpen = fstat(descriptor, &status) == 0
            facts["standard \(name)"] = isOpen ? "\(status.st_dev) \(status.st_ino)" : "closed"
        }
    }

    /// The names of the items that differ from an earlier state, sorted.
    func changes(since before: ProcessSnapshot) -> [String] {
        facts.keys.sorted().filter { facts[$0] != before.facts[$0] }
    }

    private static let limits: [(String, __rlimit_resource_t)] = [
        ("RLIMIT_NOFILE", RLIMIT_NOFILE), ("RLIMIT_STACK", RLIMIT_STACK),
        ("RLIMIT_DATA", RLIMIT_DATA), ("RLIMIT_CORE", RLIMIT_CORE),
        ("RLIMIT_CPU", RLIMIT_CPU), ("RLIMIT_FSIZE", RLIMIT_FSIZE), ("RLIMIT_AS", RLIMIT_AS),
        ("RLIMIT_NPROC", __RLIMIT_NPROC), ("RLIMIT_RSS", __RLIMIT_RSS),
        ("RLIMIT_MEMLOCK", __RLIMIT_MEMLOCK), ("RLIMIT_LOCKS", __RLIMIT_LOCKS),
        ("RLIMIT_SIGPENDING", __RLIMIT_SIGPENDING), ("RLIMIT_MSGQUEUE", __RLIMIT_MSGQUEUE),
        ("RLIMIT_NICE", __RLIMIT_NICE), ("RLIMIT_RTPRIO", __RLIMIT_RTPRIO),
        ("RLIMIT_RTTIME", __RLIMIT_RTTIME),
    ].map { ($0, __rlimit_resource_t($1.rawValue)) }

    private static func status(of name: String) -> String? {
        guard let file = fopen("/proc/self/status", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = line.withUnsafeBufferPointer { buffer in
                buffer.baseAddress.map { String(cString: $0) } ?? ""
            }
            if text.startsWithBytes(of: name) { return text }
        }
        return nil
    }
}

/// The numbers of open file descriptors and threads of this process.
struct ProcessHoldings {
    let descriptors: Int
    let threads: Int

    init() {
        descriptors = Self.count("/proc/self/fd")
        threads = Self.count("/proc/self/task")
    }

    private static func count(_ path: String) -> Int {
        guard let directory = opendir(path) else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
}

import Glibc

/// What a library should leave alone when it is loaded, and what some runtimes change.
///
/// Taken before a plugin's code runs for the first time and compared after it; what differs is put
/// back. One library is loaded at a time; what other threads change meanwhile is blamed on it.
struct ProcessState {
    private static let names: [Int32: String] = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL",
        SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE",
        SIGSEGV: "SIGSEGV", SIGPIPE: "SIGPIPE", SIGTERM: "SIGTERM", SIGCHLD: "SIGCHLD",
        SIGXFSZ: "SIGXFSZ",
    ]

    private let dispositions: [Int32: Disposition]
    private let directory: String
    private let locale: String
    private let umask: String

    /// The state as it is now.
    init() {
        var dispositions: [Int32: Disposition] = [:]
        for signal in Int32(1)...64 { dispositions[signal] = Disposition(of: signal) }
        self.dispositions = dispositions
        directory = ProcessState.currentDirectory
        locale = ProcessState.currentLocale
        umask = ProcessState.currentUmask
    }

    /// Puts back what differs now.
    ///
    /// - Returns: What did, one fact each.
    func restore() -> [String] {
        var changes: [String] = []
        for (signal, before) in dispositions.sorted(by: { $0.key < $1.key })
        where Disposition(of: signal) != before {
            before.restore(signal)
            changes.append("the handler of \(ProcessState.names[signal] ?? "signal \(signal)")")
        }
        if ProcessState.currentDirectory != directory {
            _ = chdir(directory)
            changes.append("the current directory")
        }
        if ProcessState.currentLocale != locale {
            setlocale(LC_ALL, locale)
            changes.append("the locale")
        }
        if ProcessState.currentUmask != umask, let mask = mode_t(umask, radix: 8) {
            _ = Glibc.umask(mask)
            changes.append("the umask")
        }
        return changes
    }

    private static var currentDirectory: String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }

    private static var currentLocale: String {
        setlocale(LC_ALL, nil).map { String(cString: $0) } ?? ""
    }

    /// The umask in octal, read without setting it, which other threads would notice.
    private static var currentUmask: String {
        guard let file = fopen("/proc/self/status", "re") else { return "" }
        defer { fclose(file) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
            while let line = fgets(buffer.baseAddress, 512, file) {
                let text = String(cString: line)
                guard text.hasPrefix("Umask:") else { continue }
                return String(text.dropFirst(6).filter { "01234567".contains($0) })
            }
            return ""
        }
    }
}

/// What happens when a signal comes.
private struct Disposition: Equatable {
    private let action: sigaction

    /// - Returns: `nil` for signals that the C library keeps to itself.
    init?(of signal: Int32) {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return nil }
        self.action = action
    }

    func restore(_ signal: Int32) {
        var action = action
        sigaction(signal, &action, nil)
    }

    /// Handler, flags and the kernel's 64 signals; the rest of the mask is never written.
    private var facts: [UInt64] {
        withUnsafeBytes(of: action) { bytes in
            let mask = MemoryLayout<sigaction>.offset(of: \.sa_mask) ?? 0
            return [
                bytes.loadUnaligned(as: UInt64.self), UInt64(UInt32(bitPattern: action.sa_flags)),
                bytes.loadUnaligned(fromByteOffset: mask, as: UInt64.self),
            ]
        }
    }

    static func == (a: Disposition, b: Disposition) -> Bool { a.facts == b.facts }
}

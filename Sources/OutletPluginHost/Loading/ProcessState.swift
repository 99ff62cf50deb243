import CPluginLoad
import Glibc
import OutletHTTP

/// What a library should leave alone when it is loaded, and what some runtimes change.
///
/// Taken before a plugin's code runs for the first time and compared after it; what differs is put
/// back. One library is loaded at a time. The handler of a signal counts only if it lies in a library
/// that was loaded meanwhile: other threads of the host may set theirs. Nothing here takes longer the
/// more libraries are loaded already, unless a handler did change.
struct ProcessState {
    private static let names: [Int32: String] = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL",
        SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE",
        SIGSEGV: "SIGSEGV", SIGPIPE: "SIGPIPE", SIGTERM: "SIGTERM", SIGCHLD: "SIGCHLD",
        SIGXFSZ: "SIGXFSZ",
    ]

    private let dispositions: [Int32: Disposition]
    private let loadCount: UInt64
    private let directory: String
    private let locale: String
    private let umask: String

    /// The state as it is now.
    init() {
        var dispositions: [Int32: Disposition] = [:]
        for signal in Int32(1)...64 { dispositions[signal] = Disposition(of: signal) }
        self.dispositions = dispositions
        loadCount = cpluginload_count()
        directory = ProcessState.currentDirectory
        locale = ProcessState.currentLocale
        umask = ProcessState.currentUmask
    }

    /// Puts back what differs now.
    ///
    /// - Returns: What did, one fact each.
    func restore() -> [String] {
        var changes: [String] = []
        for (signal, before) in dispositions.sorted(by: { $0.key < $1.key }) {
            guard let after = Disposition(of: signal), after != before,
                cpluginload_is_new(after.handler, loadCount)
            else { continue }
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
        let line = linesOfFile("/proc/self/status").first { $0.startsWithBytes(of: "Umask:") }
        return line.map { String($0.droppingBytes("Umask:".utf8.count).trimmingBlanks) } ?? ""
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

    /// The handler's address; 0 and 1 for the default and for ignoring.
    var handler: UInt { withUnsafeBytes(of: action) { $0.loadUnaligned(as: UInt.self) } }

    /// Handler, flags and the kernel's 64 signals; the rest of the mask is never written.
    private var facts: [UInt64] {
        withUnsafeBytes(of: action) { bytes in
            let mask = MemoryLayout<sigaction>.offset(of: \.sa_mask) ?? 0
            return [
                UInt64(handler), UInt64(UInt32(bitPattern: action.sa_flags)),
                bytes.loadUnaligned(fromByteOffset: mask, as: UInt64.self),
            ]
        }
    }

    static func == (a: Disposition, b: Disposition) -> Bool { a.facts == b.facts }
}

/// The lines of a file that the kernel makes up while it is read; none when it cannot be read.
private func linesOfFile(_ path: String) -> [Substring] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var bytes: [UInt8] = []
    var got = 0
    repeat {
        let part = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            repeat {
                got = read(file, buffer.baseAddress, buffer.count)
            } while got < 0 && errno == EINTR
            count = max(got, 0)
        }
        bytes += part
    } while got > 0
    return String(decoding: bytes, as: UTF8.self).lines
}

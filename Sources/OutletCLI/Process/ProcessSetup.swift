import CMalloc
import Dispatch
import Glibc
import OutletThreads

/// Sets up the process at its start.
enum ProcessSetup {
    /// The current directory at the start of the program; empty if it cannot be read, or its name is
    /// not UTF-8.
    ///
    /// A plugin may change the current directory later.
    static let directory: String = {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(validatingCString: path) ?? ""
    }()

    /// Opens closed standard streams, raises the file limit, ignores SIGPIPE, SIGXFSZ and
    /// `SSLKEYLOGFILE`, and lets all threads share one heap.
    ///
    /// Called once, before any thread is started.
    static func prepare() {
        openStandardStreams()
        raiseFileLimit()
        _ = directory
        // Writing to a closed pipe then fails with EPIPE instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        // Writing beyond the size limit of files (RLIMIT_FSIZE) then fails with EFBIG.
        signal(SIGXFSZ, SIG_IGN)
        // Otherwise libcurl creates that file, and waits for the reader of a pipe.
        unsetenv("SSLKEYLOGFILE")
        // Otherwise each thread reserves 64 MiB of addresses, and where it cannot (ulimit -v), each
        // of its allocations takes system calls.
        mallopt(M_ARENA_MAX, 1)
    }

    /// The number of descriptors that a command needs at the same time; the runtime ends the process
    /// if it cannot open its own.
    private static let neededDescriptors = 8
    /// The bytes of addresses that a command needs, most of them for the stacks of its threads;
    /// without these, it would wait for threads that cannot be started.
    private static var neededMemory: Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_STACK.rawValue), &limit)
        // Without a limit, the C library uses 2 MiB.
        let stack = limit.rlim_cur == .max ? 2 << 20 : Int(clamping: min(limit.rlim_cur, 1 << 32))
        return 6 * stack + 32 << 20
    }

    /// Checks that the limits of the process (`ulimit`) permit a request.
    ///
    /// - Throws: ``CommandError`` if too few files can be opened, too little memory can be mapped,
    ///   or too few threads can be started.
    static func checkLimits() throws(CommandError) {
        guard hasDescriptors else {
            throw CommandError(
                .failure, "fewer than \(neededDescriptors) files can be opened",
                advice: "raise the limit of open files (ulimit -n)")
        }
        guard hasMemory else {
            throw CommandError(
                .failure, "less than \(neededMemory >> 20) MiB of memory can be mapped",
                advice: "raise the limit of memory (ulimit -v)")
        }
        guard hasThreads else {
            throw CommandError(
                .failure, "fewer than \(neededThreads) threads can be started",
                advice: "raise the limit of processes (ulimit -u)")
        }
    }

    /// The number of threads that a command needs at the same time; the runtime waits without end
    /// if it cannot start its own.
    private static let neededThreads = 10
    /// The limit of processes from which on threads are not tried.
    private static let usualThreads = 4096

    /// Whether ``neededThreads`` more can be started; tried only under a low limit.
    private static var hasThreads: Bool {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit)
        guard limit.rlim_cur < usualThreads else { return true }
        let gate = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)
        var count = 0
        while count < neededThreads,
            SystemThread.start(
                named: "outlet-limits",
                {
                    gate.wait()
                    ended.signal()
                }) == 0
        {
            count += 1
        }
        for _ in 0..<count { gate.signal() }
        for _ in 0..<count { ended.wait() }
        return count == neededThreads
    }

    /// Whether ``neededMemory`` more can be mapped.
    private static var hasMemory: Bool {
        let place = mmap(
            nil, neededMemory, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let place, place != MAP_FAILED else { return false }
        munmap(place, neededMemory)
        return true
    }

    /// Whether ``neededDescriptors`` more can be opened.
    private static var hasDescriptors: Bool {
        var opened: [Int32] = []
        defer { opened.forEach { close($0) } }
        while opened.count < neededDescriptors {
            let descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
            guard descriptor >= 0 else { return false }
            opened.append(descriptor)
        }
        return true
    }

    /// Opens /dev/null for standard streams that the parent process has closed.
    ///
    /// Otherwise the first socket would get such a number. It is opened for reading only: stdin is
    /// then empty, and writing to stdout and stderr fails as it would have without.
    private static func openStandardStreams() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDONLY)
        }
    }

    /// Raises the soft limit of open files to the hard limit.
    private static func raiseFileLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
            limit.rlim_cur < limit.rlim_max
        else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

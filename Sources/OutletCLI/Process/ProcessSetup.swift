import Glibc

/// What the program asks of its process before anything else.
enum ProcessSetup {
    /// Makes the process fit for sockets; called once, before any thread is made.
    static func prepare() {
        openStandardStreams()
        raiseFileLimit()
        // A reader that left is an error of the write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // So is a file that may grow no more (RLIMIT_FSIZE).
        signal(SIGXFSZ, SIG_IGN)
    }

    /// A stream that was closed by the caller would be the first socket's number otherwise.
    ///
    /// Of stdin there is nothing to read then; what is written to the others fails, as it would have.
    private static func openStandardStreams() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDONLY)
        }
    }

    /// Takes all the file descriptors that the system grants without asking for more.
    private static func raiseFileLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
            limit.rlim_cur < limit.rlim_max
        else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

import Dispatch
import Glibc
import Outlet
import OutletThreads
import Synchronization

/// What plugins, and other code in the process, write to stdout and stderr themselves.
///
/// It goes to stderr. If that is a terminal, it passes a pipe, and control sequences in it are made
/// visible instead.
enum PluginOutput {
    /// The reading end of the pipe.
    private struct Reader {
        let descriptor: Int32
        let identity: FileIdentity?
        var text = TerminalText()

        /// Copies what is in the pipe, 64 KiB at most, to stderr.
        ///
        /// - Returns: Whether more may follow: not if the pipe is closed, or code in this process
        ///   has closed the descriptor.
        mutating func copy() -> Bool { PluginWatch.copying { copyAvailable() } }

        private mutating func copyAvailable() -> Bool {
            for _ in 0..<16 {
                guard identity != nil, FileIdentity(of: descriptor) == identity else {
                    return false
                }
                var count = 0
                let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, length in
                    count = read(descriptor, buffer.baseAddress, buffer.count)
                    length = max(0, count)
                }
                guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
                var visible: [UInt8] = []
                bytes.withUnsafeBytes { text.append($0, to: &visible) }
                StatusLine.interrupt { try? OutputFile.standardError.write(visible) }
            }
            return true
        }
    }

    private static let reader = Mutex<Reader?>(nil)

    /// Prepares the process for plugins: reserves the standard streams for the program, and turns
    /// reports of crashes on.
    ///
    /// Call it before plugins are loaded. Further calls have no effect.
    static func begin() {
        let descriptor = reader.withLock { reader -> Int32? in
            guard reader == nil, let descriptor = makePipe() else { return reader?.descriptor }
            reader = Reader(descriptor: descriptor, identity: FileIdentity(of: descriptor))
            if SystemThread.start(named: "outlet-output", { copyAll(from: descriptor) }) != 0 {
                DispatchQueue.global().async { copyAll(from: descriptor) }
            }
            // Exit handlers of plugins, which are registered later, run before. A write may be
            // blocked meanwhile: the program does not wait for it then.
            atexit {
                // Otherwise exit() does it later.
                PluginWatch.flushOutput()
                _ = PluginOutput.reader.withLockIfAvailable { $0?.copy() }
            }
            return descriptor
        }
        if descriptor == nil { OutputFile.keepStandardOutput() }
        StandardInput.keep()
        PluginWatch.begin(
            exitCode: ExitCode.plugin.rawValue,
            reportingTo: OutputFile.standardError.descriptor, after: descriptor ?? -1)
        PluginWatch.guardExits()
        PluginWatch.keep(OutputFile.standardOutput.descriptor)
        PluginWatch.keep(StandardInput.descriptor)
    }

    /// Copies what was written until now; for the end of the program.
    static func copyRest() { reader.withLock { _ = $0?.copy() } }

    /// Makes the pipe the standard streams, if stderr is a terminal.
    ///
    /// - Returns: Its reading end; `nil` if stderr is no terminal, or there are no descriptors.
    private static func makePipe() -> Int32? {
        guard isatty(OutputFile.standardError.descriptor) == 1 else { return nil }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        defer { for end in ends { close(end) } }
        // A high number, which code in this process is unlikely to close by mistake.
        let descriptor = fcntl(ends[0], F_DUPFD_CLOEXEC, 200)
        guard descriptor >= 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
            close(descriptor)
            return nil
        }
        // If stdout is closed, writing to it must still fail.
        if OutputFile.standardOutput.descriptor >= 0 { dup2(ends[1], STDOUT_FILENO) }
        dup2(ends[1], STDERR_FILENO)
        return descriptor
    }

    private static func copyAll(from descriptor: Int32) {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&wanted, 1, -1) >= 0 || errno == EINTR {
            guard reader.withLock({ $0?.copy() }) == true else { return }
        }
    }
}

import CPluginWatch
import Glibc

/// Reports crashes and calls of `exit()` in plugins as one line that names the plugin, the hook and
/// the request.
///
/// For programs rather than libraries: it installs signal handlers and an `atexit` handler.
public enum PluginWatch {
    /// Turns reporting on.
    ///
    /// After a crash the process ends with the same signal as without reporting. A call of `exit()`
    /// or `quick_exit()` in a plugin ends the process with `exitCode`, whatever code the plugin
    /// passed. In programs that link `CProcessExit` so do `_exit()` and `daemon()`, also in threads
    /// that plugins have started, in exit handlers and in destructors; such programs must call
    /// ``expectExit()`` before `exit()`, and ``endProcess(_:)`` in place of `_exit()`. A copy
    /// of the process that a plugin makes with `fork()` ends when the plugin's code returns in it.
    /// Programs that link `CProcessExit` also report other ways to copy the process, exec functions
    /// and signals that a plugin sends to end the process, and crashes after a plugin has changed
    /// the handlers of signals or blocked them. System calls that a plugin makes without the C
    /// library are detected by ``guardExits()`` only, except that such copies end, too.
    ///
    /// - Parameters:
    ///   - exitCode: The exit code of the process after a plugin has called `exit()`.
    ///   - descriptor: The file descriptor to write the line to. Pass one that plugins do not know:
    ///     the line is lost if a plugin has closed it.
    ///   - reader: The reading end of a pipe, without blocking; -1 for none. What is in it when the
    ///     process ends is written to `descriptor` before the line, with `?` in place of bytes other
    ///     than printable ASCII.
    public static func begin(
        exitCode: Int32, reportingTo descriptor: Int32 = 2, after reader: Int32 = -1
    ) {
        cpluginwatch_report(exitCode, descriptor, reader)
    }

    /// Reads from the pipe that was passed to ``begin(exitCode:reportingTo:after:)``, and writes what
    /// it has read; a line about a plugin then comes after that, or 0.2 s later.
    ///
    /// - Parameter body: Reads and writes; one thread at a time.
    /// - Returns: The result of `body`.
    public static func copying<Result>(_ body: () -> Result) -> Result {
        cpluginwatch_set_copying(true)
        defer { cpluginwatch_set_copying(false) }
        return body()
    }

    /// Also reports plugins that end the process with functions of the C library that they have
    /// looked up, or with system calls of their own.
    ///
    /// Uses a seccomp filter, which processes that this one starts inherit, and without
    /// `CAP_SYS_ADMIN` sets `PR_SET_NO_NEW_PRIVS`: programs that plugins start then gain no
    /// privileges. Has no effect where that is not possible, where addresses are not random
    /// (`ADDR_NO_RANDOMIZE`), and on machines other than x86-64. Not reported are calls with the
    /// exit code 127, which are those of `posix_spawn()`, and calls in constructors and in code that
    /// the plugin loads or makes itself. The program itself must end by ``endProcess(_:)``, or by `exit()`
    /// after ``expectExit()``.
    ///
    /// Thread: that of ``begin(exitCode:reportingTo:after:)``.
    public static func guardExits() { cpluginwatch_guard() }

    /// Does for a library that was just loaded what ``guardExits()`` does.
    ///
    /// Thread: any.
    static func noteLoading() { cpluginwatch_loaded() }

    /// The number of seccomp filters that ``guardExits()`` and ``noteLoading()`` have installed.
    static var filterCount: Int { Int(cpluginwatch_filter_count()) }

    /// Keeps plugins from closing a descriptor, in programs that link `CProcessExit`.
    ///
    /// The plugin's call fails, and is reported. Kept already are those of
    /// ``begin(exitCode:reportingTo:after:)``, and those that the program opens with functions that
    /// `CProcessExit` replaces: sockets, pipes and files. The standard streams are not kept.
    ///
    /// Thread: any.
    public static func keep(_ descriptor: Int32) { cpluginwatch_keep(descriptor) }

    /// Writes what the C library holds of the text that plugins have written to stdout.
    ///
    /// Does not wait for threads that use the stream.
    ///
    /// Thread: any, at the end of the process.
    public static func flushOutput() { cpluginwatch_flush_output() }

    /// Ends the process, and reports a plugin, if a signal comes from this process, or from the kernel
    /// for a timer, a descriptor or a message queue.
    ///
    /// For handlers of signals that end the program. Async-signal-safe.
    ///
    /// - Parameters:
    ///   - signal: The signal.
    ///   - info: The `siginfo_t` that the handler got.
    public static func endIfPluginSent(_ signal: Int32, _ info: UnsafeRawPointer) {
        cpluginwatch_signal_received(signal, info.assumingMemoryBound(to: siginfo_t.self))
    }

    /// Whether a plugin has ever set the action of a signal, in programs that link `CProcessExit`.
    static func hasSetAction(of signal: Int32) -> Bool { cpluginwatch_has_set_action(signal) }

    /// The threads that plugins have started in their hooks, and whose functions have not returned.
    ///
    /// Threads that libraries shared with the program have started are missing, such as those of
    /// Dispatch, and threads beyond 256.
    package static var threads: [(number: Int32, plugin: String)] {
        withUnsafeTemporaryAllocation(of: cpluginwatch_thread.self, capacity: 256) { buffer in
            let count = cpluginwatch_threads(buffer.baseAddress, buffer.count)
            return buffer.prefix(count).map { thread in
                let plugin = withUnsafeBytes(of: thread.plugin) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                return (thread.number, plugin)
            }
        }
    }

    /// What known plugins were reported for by a line, without the end of the process: at most 32.
    package static var misbehaviours: [PluginMisbehaviour] {
        let facts = withUnsafeTemporaryAllocation(of: cpluginwatch_fact.self, capacity: 32) {
            buffer in
            Array(buffer.prefix(cpluginwatch_facts(buffer.baseAddress, buffer.count)))
        }
        func text<Characters>(_ characters: Characters) -> String {
            withUnsafeBytes(of: characters) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
        }
        return facts.filter { $0.plugin.0 != 0 }.map { fact in
            PluginMisbehaviour(
                plugin: text(fact.plugin), kind: fact.is_copy ? .copiedProcess : .changedProcess,
                count: 1, fact: "it \(text(fact.text))", hook: PluginHook(rawValue: text(fact.hook))
            )
        }
    }

    /// Stops reporting calls of `exit()`; call it before the program itself calls `exit()`.
    public static func expectExit() { cpluginwatch_expect_exit() }

    /// Ends the process at once, without exit handlers; not reported.
    ///
    /// - Parameter exitCode: The exit code of the process.
    public static func endProcess(_ exitCode: Int32) -> Never { cpluginwatch_end(exitCode) }

    /// As ``expectExit()``, and ends the process when its exit handlers and destructors take too long.
    ///
    /// Does nothing if reporting is off.
    ///
    /// - Parameters:
    ///   - time: How long they may take.
    ///   - exitCode: The exit code of the process if they take longer.
    ///   - message: Written to the reports' descriptor in that case, as one line.
    public static func expectExit(
        within time: Duration, orExitWith exitCode: Int32, reporting message: String
    ) {
        expectExit()
        guard isOn else { return }
        let (seconds, attoseconds) = time.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        _ = cpluginwatch_end_after(Int(milliseconds), exitCode, message)
    }

    /// Whether reporting is on; subjects of calls are computed only then.
    static var isOn: Bool { cpluginwatch_is_on() }

    /// The description of what the plugin's code on this thread was called for.
    ///
    /// `nil` outside of plugins, without a subject, and if reporting is off.
    static var subject: String? { cpluginwatch_subject().map { String(cString: $0) } }

    /// Adds a plugin to those that reports outside of hooks name.
    ///
    /// - Parameters:
    ///   - plugin: The plugin's id.
    ///   - library: The number of its library.
    static func note(_ plugin: String, in library: UInt32) { cpluginwatch_note(plugin, library) }

    /// Runs a plugin's code, and records the call for crash reports.
    ///
    /// - Parameters:
    ///   - plugin: The plugin's id, or the path of its file while it is loaded.
    ///   - library: The number of its library.
    ///   - hook: The name of the hook.
    ///   - subject: A description of the call without secrets; `nil` for none.
    ///   - body: Calls the plugin.
    static func watching<Result>(
        _ plugin: String, in library: UInt32, _ hook: String, about subject: String?,
        _ body: () -> Result
    ) -> Result {
        guard isOn else { return body() }
        cpluginwatch_enter(plugin, hook, subject ?? "", library)
        defer { cpluginwatch_leave() }
        return body()
    }

    /// The record of a hook that has returned `OUTLET_PENDING`, for reports about the plugin's
    /// threads; ends with the object.
    ///
    /// Thread: any.
    final class PendingHook: Sendable {
        private let number: UInt32

        /// Keeps the record of the call that this thread is in; `nil` if there is none.
        ///
        /// To be called within ``watching(_:in:_:about:_:)``.
        init?() {
            let number = cpluginwatch_pending()
            guard number != 0 else { return nil }
            self.number = number
        }

        deinit { cpluginwatch_answered(number) }

        /// Records that the answer is not needed any more, though the plugin may still work on it.
        func cancel() { cpluginwatch_cancelled(number) }
    }
}

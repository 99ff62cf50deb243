/// The rules of the plugin contract; `PluginsSDK/ABI.md` has the same list.
public enum PluginRule: String, Sendable, CaseIterable {
    // MARK: Files

    /// Only root and the current user can write to the file, its directories, and the directories
    /// in which it looks for libraries.
    case fileSafe = "file-safe"
    /// The file is a complete shared library for this machine.
    case fileLibrary = "file-library"
    /// The library exports the entry function of a major ABI version that the host supports.
    case fileEntry = "file-entry"
    /// The library should export nothing but the entry function.
    case fileSymbols = "file-symbols"
    /// The library should contain a manifest.
    case manifestPresent = "manifest-present"
    /// A manifest is well-formed, has at most 64 KiB, has no repeated keys, and no values that no
    /// descriptor can have.
    case manifestValid = "manifest-valid"
    /// The manifest and the code declare the same plugins with the same versions, permissions and
    /// minor ABI version.
    case manifestAgrees = "manifest-agrees"

    // MARK: Loading

    /// All libraries and symbols that the library needs are found when it is loaded.
    case loadLinks = "load-links"
    /// Constructors and the entry function should return at once: a scan has 100 ms in all. Over 3 s are
    /// a violation.
    case loadQuick = "load-quick"
    /// The entry function returns the same answer at each call.
    case entrySame = "entry-same"
    /// The entry function accepts hosts of every minor version from min_host_minor on, which is not
    /// above abi_minor.
    case entryMinor = "entry-minor"
    /// Modules, descriptors and exports are complete: sizes, required functions, unique ids, names
    /// and texts as the headers say.
    case entryModule = "entry-module"
    /// The signature of an export uses the letters of export.h, and matches its function.
    case exportSignature = "export-signature"

    // MARK: Instances

    /// create succeeds with a valid configuration.
    case createStarts = "create-starts"
    /// create stores an instance when it returns OUTLET_OK.
    case createInstance = "create-instance"
    /// create reports a reason through fail when it fails.
    case createReason = "create-reason"
    /// Several instances can exist, unless the descriptor has OUTLET_F_PER_PROCESS.
    case createApart = "create-apart"
    /// create accepts any JSON object: it succeeds, or fails with a reason.
    case configAny = "config-any"
    /// The JSON Schema of the configuration can be used by the host. It should have known keywords only.
    case configSchema = "config-schema"
    /// destroy frees what create allocated: memory, descriptors, threads; processes that the plugin
    /// has started end.
    case destroyFrees = "destroy-frees"

    // MARK: Hooks and functions

    /// A hook or function that fails reports a reason, through fail or in its answer.
    case callReason = "call-reason"
    /// Calls leak nothing: memory, descriptors, threads, timers; what belongs to a request is freed
    /// in request_done.
    case callFrees = "call-frees"
    /// Hooks of a plugin with OUTLET_F_NONBLOCKING never wait, and return within microseconds.
    case callNonblocking = "call-nonblocking"
    /// Every function of the plugin returns.
    case callReturns = "call-returns"
    /// A completion is settled at most once.
    case settleOnce = "settle-once"
    /// A hook returns, and a pending completion is settled, by the deadline.
    case settleInTime = "settle-in-time"
    /// Statuses, verdicts, lengths, texts and types passed to the host have values that the headers
    /// define; bodies and values are as declared.
    case valueKnown = "value-known"
    /// No handle is used after its end.
    case handleLate = "handle-late"
    /// What views show is not read after their end: it is copied where it is wanted later.
    case viewLate = "view-late"
    /// The plugin uses only handles and tables that the host gave to this instance, and each as its
    /// own type.
    case handleOwn = "handle-own"
    /// Handles passed to a hook without an answer are used on the hook's thread only.
    case handleThread = "handle-thread"

    // MARK: The end

    /// quiesce ends all work in time, or returns OUTLET_PENDING and quiesced is called; destroy
    /// returns.
    case endInTime = "end-in-time"
    /// quiesced is called once, after quiesce has returned OUTLET_PENDING or while it runs.
    case endAsked = "end-asked"

    // MARK: The process

    /// The plugin does not crash, and no exception leaves it.
    case noCrash = "no-crash"
    /// The plugin does not end the process, also not in exit handlers and destructors.
    case noExit = "no-exit"
    /// The plugin does not copy the process; it starts programs with posix_spawn.
    case noFork = "no-fork"
    /// The plugin writes nothing to standard output or standard error.
    case noOutput = "no-output"
    /// Process-wide state stays unchanged: signal handlers, working directory, umask, locale,
    /// environment, limits, standard streams.
    case stateProcess = "state-process"
    /// A call leaves its thread's state unchanged: blocked signals, rounding, floating-point traps.
    case stateThread = "state-thread"
}

extension PluginMisbehaviour.Kind {
    /// The rule that was violated.
    public var rule: PluginRule {
        switch self {
        case .staleHandle: .handleLate
        case .foreignHandle: .handleOwn
        case .wrongThread: .handleThread
        case .settledTwice: .settleOnce
        case .neverSettled: .settleInTime
        case .blocked: .callNonblocking
        case .unaskedQuiesced: .endAsked
        case .didNotQuiesce: .endInTime
        case .changedProcess: .stateProcess
        case .changedThread: .stateThread
        case .forbiddenValue: .valueKnown
        case .copiedProcess: .noFork
        }
    }
}

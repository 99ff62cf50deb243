/// What a plugin must keep to; `PluginsSDK/ABI.md` has the same list.
public enum PluginRule: String, Sendable, CaseIterable {
    // MARK: Files

    /// The file and its directories can be written by root and the user only, and it looks for
    /// libraries in such directories only.
    case fileSafe = "file-safe"
    /// The file is a whole shared library for this machine.
    case fileLibrary = "file-library"
    /// The library exports the entry of a major version of the ABI that the host speaks.
    case fileEntry = "file-entry"
    /// The library exports the entry, and should export nothing else.
    case fileSymbols = "file-symbols"
    /// The library should hold a manifest.
    case manifestPresent = "manifest-present"
    /// A manifest is well-formed, has 64 KiB at most, and says nothing twice.
    case manifestValid = "manifest-valid"
    /// The manifest and the code have the same plugins, with the same versions, permissions and
    /// minor of the ABI.
    case manifestAgrees = "manifest-agrees"

    // MARK: Loading

    /// All that the library needs is found when it is loaded.
    case loadLinks = "load-links"
    /// Constructors and the entry come back at once: all of a scan has 100 ms.
    case loadQuick = "load-quick"
    /// The entry answers the same each time it is called.
    case entrySame = "entry-same"
    /// The entry answers hosts of every minor from min_host_minor on, which is not above abi_minor.
    case entryMinor = "entry-minor"
    /// Modules, descriptors and exports are whole: sizes, required functions, unique ids, names and
    /// texts as the headers say.
    case entryModule = "entry-module"
    /// The signature of an export is of the letters of export.h, and that of its function.
    case exportSignature = "export-signature"

    // MARK: Instances

    /// create succeeds with a configuration that is right.
    case createStarts = "create-starts"
    /// create gives an instance with OUTLET_OK.
    case createInstance = "create-instance"
    /// create that fails says why, by fail.
    case createReason = "create-reason"
    /// Instances do not disturb each other, unless the descriptor says OUTLET_F_PER_PROCESS.
    case createApart = "create-apart"
    /// create takes any JSON object: it succeeds, or fails with a reason.
    case configAny = "config-any"
    /// A JSON Schema of the configuration is one that the host can use.
    case configSchema = "config-schema"
    /// destroy frees what create made: memory, descriptors, threads.
    case destroyFrees = "destroy-frees"

    // MARK: Hooks and functions

    /// A hook or function that fails says why, by fail, or in its answer.
    case callReason = "call-reason"
    /// Calls leave nothing behind: memory, descriptors, threads; what belongs to a request is freed
    /// in request_done.
    case callFrees = "call-frees"
    /// Hooks of a plugin that says OUTLET_F_NONBLOCKING never wait, and return within microseconds.
    case callNonblocking = "call-nonblocking"
    /// Every function of the plugin returns.
    case callReturns = "call-returns"
    /// A completion is settled at most once.
    case settleOnce = "settle-once"
    /// A hook returns, and a promised completion is settled, by the deadline.
    case settleInTime = "settle-in-time"
    /// Statuses, verdicts, lengths and texts that are handed over are those that the headers know.
    case valueKnown = "value-known"
    /// No handle is used after its end.
    case handleLate = "handle-late"
    /// Only handles and tables that the host gave to this instance are used, as what they are.
    case handleOwn = "handle-own"

    // MARK: The end

    /// quiesce ends all work in time, or promises quiesced and calls it; destroy returns.
    case endInTime = "end-in-time"
    /// quiesced is called once, after quiesce has returned OUTLET_PENDING or while it runs.
    case endAsked = "end-asked"

    // MARK: The process

    /// Nothing crashes, and nothing unwinds out of the plugin.
    case noCrash = "no-crash"
    /// The process is the host's to end.
    case noExit = "no-exit"
    /// The process is not copied: programs are started by posix_spawn.
    case noFork = "no-fork"
    /// Nothing is written to standard output or standard error.
    case noOutput = "no-output"
    /// What belongs to the process stays as it is: signal handlers, working directory, umask,
    /// locale, environment, limits, standard streams.
    case stateProcess = "state-process"
    /// A call leaves its thread as it was: blocked signals, rounding, floating-point traps.
    case stateThread = "state-thread"
}

extension PluginMisbehaviour.Kind {
    /// The rule that was broken.
    public var rule: PluginRule {
        switch self {
        case .staleHandle: .handleLate
        case .foreignHandle: .handleOwn
        case .settledTwice: .settleOnce
        case .neverSettled: .settleInTime
        case .unaskedQuiesced: .endAsked
        case .didNotQuiesce: .endInTime
        case .changedProcess: .stateProcess
        case .forbiddenValue: .valueKnown
        }
    }
}

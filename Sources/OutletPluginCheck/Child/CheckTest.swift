public import OutletPluginHost

/// One test of a plugin, in a process of its own.
public enum CheckTest: String, Sendable, CaseIterable {
    /// The file alone: none of its code runs.
    case file
    /// The library is loaded, and says what it holds.
    case load
    /// The entry is asked as hosts of several minors ask it.
    case entry
    /// An instance is made with the configuration given, and unmade.
    case create
    /// Instances are made with configurations of all kinds.
    case configurations
    /// Instances are made and unmade many times.
    case createAgain = "create-again"
    /// A running instance is told configurations of all kinds.
    case reconfigure
    /// Two instances at once.
    case instances
    /// Requests of all kinds pass the hooks, one after the other.
    case hooks
    /// Requests pass the hooks beside each other.
    case overlap
    /// What hooks that promise never to wait do.
    case nonblocking
    /// Requests are cancelled in each hook.
    case cancel
    /// Hooks are given no time.
    case deadlines
    /// Exported functions are called with values of all kinds.
    case functions
    /// The plugin is shut down in each hook.
    case shutdown
    /// What calls change of the process and their thread.
    case state
    /// What many calls leave behind.
    case callAgain = "call-again"
    /// The process ends as it should.
    case exit

    /// The rules that this test is about; those of the process are tested by all.
    public var rules: Set<PluginRule> {
        switch self {
        case .file:
            [
                .fileSafe, .fileLibrary, .fileEntry, .fileSymbols, .manifestPresent,
                .manifestValid,
            ]
        case .load:
            [
                .manifestAgrees, .loadLinks, .loadQuick, .entryModule, .exportSignature,
                .stateProcess,
            ]
        case .entry: [.entrySame, .entryMinor]
        case .create:
            [.createStarts, .configSchema, .createInstance, .createReason, .endInTime, .endAsked]
        case .configurations: [.configAny, .createInstance, .createReason]
        case .createAgain: [.destroyFrees, .endInTime]
        case .reconfigure: [.configAny, .callReason]
        case .instances: [.createApart]
        case .hooks, .overlap:
            [
                .callReason, .settleOnce, .settleInTime, .valueKnown, .handleLate, .handleOwn,
                .handleThread,
            ]
        case .nonblocking: [.callNonblocking]
        case .cancel, .deadlines: [.settleOnce, .handleLate, .handleOwn, .valueKnown]
        case .functions: [.callReason, .valueKnown, .exportSignature]
        case .shutdown: [.endInTime, .endAsked, .handleLate]
        case .state: [.stateProcess, .stateThread]
        case .callAgain: [.callFrees]
        case .exit: [.noCrash]
        }
    }

    /// The rules that any test may find broken.
    static let rulesOfAll: Set<PluginRule> = [
        .noCrash, .noExit, .noFork, .noOutput, .callReturns,
    ]

    /// The tests that a word names: one test, or those of a rule; `nil` when it names nothing.
    public static func named(_ word: String) -> [CheckTest]? {
        if let test = CheckTest(rawValue: word) { return [test] }
        guard let rule = PluginRule(rawValue: word) else { return nil }
        return rulesOfAll.contains(rule)
            ? allCases : allCases.filter { $0.rules.contains(rule) }
    }
}

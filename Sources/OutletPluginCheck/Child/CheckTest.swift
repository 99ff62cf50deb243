public import OutletPluginHost

/// One test of a plugin; each runs in its own process.
public enum CheckTest: String, Sendable, CaseIterable {
    /// Inspects the file without running any of its code.
    case file
    /// Loads the library and reads its plugin descriptors.
    case load
    /// Calls the entry function with several minor ABI versions.
    case entry
    /// Creates and destroys an instance with the given configuration.
    case create
    /// Creates instances with valid, invalid and unusual configurations.
    case configurations
    /// Creates and destroys instances many times, to find leaks.
    case createAgain = "create-again"
    /// Reconfigures a running instance with valid, invalid and unusual configurations.
    case reconfigure
    /// Runs two instances at the same time.
    case instances
    /// Sends generated requests through the hooks, one after another.
    case hooks
    /// Sends concurrent requests through the hooks.
    case overlap
    /// Measures whether hooks of plugins with `OUTLET_F_NONBLOCKING` wait.
    case nonblocking
    /// Cancels requests before and after each hook; measures whether `cancel` blocks.
    case cancel
    /// Runs hooks with a deadline of 1 ms.
    case deadlines
    /// Calls exported functions with ordinary and extreme values.
    case functions
    /// Shuts the plugin down before and after each hook.
    case shutdown
    /// Compares the state of the process and of the thread before and after each call.
    case state
    /// Sends and cancels many requests, reconfigures and calls functions, to find leaks.
    case callAgain = "call-again"
    /// Ends the process with `exit()` after the plugin has been shut down.
    case exit

    /// The rules that this test checks, apart from those that every test checks, such as
    /// ``PluginRule/noCrash``.
    public var rules: Set<PluginRule> {
        var rules = ownRules
        if createsInstances { rules.formUnion(Self.rulesOfInstances) }
        if createsInstances, !measuresLeaks { rules.insert(.viewLate) }
        if createsInstances, !createsInstancesOnly { rules.formUnion(Self.rulesOfCalls) }
        return rules
    }

    /// The rules for which the test was made.
    private var ownRules: Set<PluginRule> {
        switch self {
        case .file:
            [.fileSafe, .fileLibrary, .fileEntry, .manifestPresent, .manifestValid]
        case .load:
            [
                .manifestAgrees, .loadLinks, .loadQuick, .entryModule, .entryMinor,
                .exportSignature, .configSchema, .stateProcess,
            ]
        case .entry: [.entrySame, .entryMinor]
        case .create:
            [
                .fileSymbols, .entryModule, .createStarts, .configSchema, .createInstance,
                .createReason,
            ]
        case .configurations: [.configAny, .createInstance]
        case .createAgain: [.destroyFrees]
        case .reconfigure: [.configAny]
        case .instances: [.createStarts, .createApart]
        case .nonblocking, .cancel: [.callNonblocking]
        case .functions: [.exportSignature]
        case .state: [.stateProcess, .stateThread]
        case .callAgain: [.callFrees]
        case .hooks, .overlap, .deadlines, .shutdown, .exit: []
        }
    }

    /// Whether the test creates instances.
    private var createsInstances: Bool { ![.file, .load, .entry].contains(self) }

    /// The rules of tests that create instances: those that the host records whenever it calls a
    /// plugin, and that processes of the plugin end.
    private static let rulesOfInstances =
        Set(PluginMisbehaviour.Kind.allCases.map(\.rule)).union([.destroyFrees])

    /// The further rules of tests that call hooks or functions.
    private static let rulesOfCalls: Set<PluginRule> = [.callReason, .callFrees]

    /// Whether the test creates instances, but calls none of their hooks and functions.
    var createsInstancesOnly: Bool {
        [.load, .entry, .create, .configurations, .createAgain].contains(self)
    }

    /// Whether the test measures memory, which the host then frees at once.
    var measuresLeaks: Bool { self == .createAgain || self == .callAgain }

    /// The rules that every test checks.
    static let rulesOfAll: Set<PluginRule> = [
        .noCrash, .noExit, .noFork, .noOutput, .callReturns,
    ]

    /// Returns the tests with a name, or the tests that check a rule.
    ///
    /// - Parameter word: The raw value of a test or of a ``PluginRule``.
    /// - Returns: One test, the tests of the rule, or `nil` when there is no such test or rule.
    public static func named(_ word: String) -> [CheckTest]? {
        if let test = CheckTest(rawValue: word) { return [test] }
        guard let rule = PluginRule(rawValue: word) else { return nil }
        return rulesOfAll.contains(rule)
            ? allCases : allCases.filter { $0.rules.contains(rule) }
    }
}

import FoundationEssentials
import Glibc
import OutletPluginCheck
import OutletPluginHost
import OutletTestSupport
import Testing

/// The results of the checker for plugins that each break one rule of the contract.
@Suite(.timeLimit(.minutes(patience * 10))) struct FaultyPluginTests {
    /// The time limit for tests that find leaks by many repetitions, in seconds.
    ///
    /// A busy machine may need much of it: with fewer repetitions, only large leaks are found.
    private static let repetitionLimit = 600

    /// A plugin, its configuration, and the rule that one test must report as broken.
    struct Row: Sendable, CustomTestStringConvertible {
        let plugin: String
        var configuration: [String: String] = [:]
        let test: CheckTest
        let rule: PluginRule
        /// The time limit of the test in seconds; short for plugins that always use all of it.
        var limit = 60

        init(_ plugin: String, _ test: CheckTest, _ rule: PluginRule, limit: Int = 60) {
            (self.plugin, self.test, self.rule, self.limit) = (plugin, test, rule, limit)
        }

        init(
            _ plugin: String, _ id: String, _ json: String, _ test: CheckTest, _ rule: PluginRule,
            limit: Int = 60
        ) {
            self.init(plugin, test, rule, limit: limit)
            configuration["faulty.\(id)"] = json
        }

        var testDescription: String { "\(plugin) \(configuration.values.first ?? "")" }
    }

    static let files: [Row] = [
        Row("BrokenManifest", .file, .manifestValid),
        Row("DoubledManifest", .file, .manifestValid),
        Row("LargeManifest", .file, .manifestValid),
        Row("FutureABI", .file, .fileEntry),
        Row("FutureManifest", .file, .manifestValid),
        Row("NoEntry", .file, .fileEntry),
        Row("RawText", .file, .manifestValid),
        Row("BadID", .load, .entryModule),
        Row("BadSignature", .load, .exportSignature),
        Row("ChangesProcess", .load, .stateProcess),
        Row("DoubledExport", .load, .entryModule),
        Row("HangsOnLoad", .load, .loadQuick, limit: 2),
        Row("HugeText", .load, .entryModule),
        Row("LyingABI", .load, .manifestAgrees),
        Row("LyingManifest", .load, .manifestAgrees),
        Row("LyingPermissions", .load, .manifestAgrees),
        Row("LyingVersion", .load, .manifestAgrees),
        Row("MissingSymbol", .load, .loadLinks),
        Row("NewerHost", .load, .entryMinor),
        Row("NoCreate", .load, .entryModule),
        Row("NullModule", .load, .entryMinor),
        Row("RawText", .load, .entryModule),
        Row("ShortDescriptor", .load, .entryModule),
        Row("ShortModule", .load, .entryModule),
        Row("AnswersDifferently", .entry, .entrySame),
        Row("ChangesDescriptor", .entry, .entrySame),
        Row("NullModule", .entry, .entryMinor),
        Row("RefusesNewer", .entry, .entryMinor),
    ]

    static let instances: [Row] = [
        Row("BadText", "bad-text", #"{"to": "create"}"#, .create, .createReason),
        Row("CreateFails", .create, .createStarts),
        Row("CreateNoReason", .create, .createReason),
        Row("OddValues", "odd-values", #"{"mode": "create"}"#, .create, .valueKnown),
        Row("CreateNothing", .create, .createInstance),
        Row("DoubledID", .create, .entryModule),
        Row("Hangs", "hangs", #"{"hook": "create", "how": "exit"}"#, .create, .noExit),
        Row("Hangs", "hangs", #"{"hook": "create", "how": "fault"}"#, .create, .noCrash),
        Row("LyingHooks", .create, .entryModule),
        Row("LyingHooks", "lying-hooks", #"{"size": 8}"#, .create, .entryModule),
        Row("LyingHooks", "lying-hooks", #"{"size": 124}"#, .create, .entryModule),
        Row("ShortHooks", .create, .entryModule),
        Row("LyingHooks", "lying-hooks", #"{"size": 65537}"#, .create, .entryModule),
        Row("SlowDestroy", .create, .endInTime, limit: 12),
        Row("SlowQuiesce", .create, .endInTime, limit: 12),
        Row("Hangs", "hangs", #"{"hook": "quiesce", "how": "abort"}"#, .create, .noCrash),
        Row(
            "TrustsConfiguration", "trusts-configuration", #"{"count": 1}"#, .configurations,
            .configAny),
        Row(
            "TrustsConfiguration", "trusts-configuration", #"{"name": "x"}"#, .configurations,
            .noCrash),
        Row(
            "TrustsParts", "trusts-parts", #"{"what": "element"}"#, .configurations, .noCrash),
        Row("TrustsParts", "trusts-parts", #"{"what": "last"}"#, .configurations, .noCrash),
        Row("TrustsParts", "trusts-parts", #"{"what": "member"}"#, .configurations, .configAny),
        Row(
            "TrustsParts", "trusts-parts", #"{"what": "referred"}"#, .configurations, .configAny),
        Row(
            "Leaks", "leaks", #"{"at": "create", "what": "descriptor"}"#, .createAgain,
            .destroyFrees),
        Row("Leaks", "leaks", #"{"at": "create", "what": "memory"}"#, .createAgain, .destroyFrees),
        Row("Leaks", "leaks", #"{"at": "create", "what": "thread"}"#, .createAgain, .destroyFrees),
        Row("Leaks", "leaks", #"{"at": "create", "what": "timer"}"#, .createAgain, .destroyFrees),
        Row(
            "LeaksWhenRefused", "leaks-when-refused",
            #"{"at": "create", "what": "descriptor", "name": ""}"#, .createAgain, .destroyFrees),
        Row(
            "LeaksWhenRefused", "leaks-when-refused",
            #"{"at": "create", "what": "memory", "name": ""}"#, .createAgain, .destroyFrees),
        Row(
            "LeaksWhenRefused", "leaks-when-refused",
            #"{"at": "create", "what": "thread", "name": ""}"#, .createAgain, .destroyFrees),
        Row("OnlyOne", .instances, .createStarts),
        Row("SharesState", "shares-state", #"{"what": "end"}"#, .instances, .createApart),
        Row("SharesState", "shares-state", #"{"what": "name"}"#, .instances, .createApart),
        Row(
            "Reconfigured", "reconfigured", #"{"word": "silent"}"#, .reconfigure, .callReason),
        Row("Reconfigured", "reconfigured", #"{"word": "crash"}"#, .reconfigure, .noCrash),
        Row("Reconfigured", "reconfigured", #"{"word": "pending"}"#, .reconfigure, .valueKnown),
        Row("CrashesAtExit", .exit, .noCrash),
        Row("EndsAtExit", "ends-at-exit", #"{"at": "atexit", "how": "_exit"}"#, .exit, .noExit),
        Row("EndsAtExit", "ends-at-exit", #"{"at": "atexit", "how": "exit"}"#, .exit, .noExit),
        Row("EndsAtExit", "ends-at-exit", #"{"at": "on_exit", "how": "_exit"}"#, .exit, .noExit),
        Row(
            "EndsAtExit", "ends-at-exit", #"{"at": "destructor", "how": "_exit"}"#, .exit, .noExit),
        Row("EndsAtExit", "ends-at-exit", #"{"at": "destructor", "how": "exit"}"#, .exit, .noExit),
    ]

    /// Leaks in calls; those in create are above.
    static let leaks =
        [
            #"{"at": "prepare", "what": "descriptor"}"#, #"{"at": "prepare", "what": "memory"}"#,
            #"{"at": "prepare", "what": "thread"}"#, #"{"at": "prepare", "what": "mapping"}"#,
            #"{"at": "prepare", "what": "descriptors"}"#, #"{"at": "prepare", "what": "timer"}"#,
            #"{"at": "prepare", "what": "descriptor", "every": "10"}"#,
            #"{"at": "prepare", "what": "memory", "size": "4000"}"#,
            #"{"at": "redirect", "what": "descriptor"}"#, #"{"at": "redirect", "what": "memory"}"#,
            #"{"at": "redirect", "what": "memory", "size": "1100"}"#,
            #"{"at": "cancel", "what": "descriptor"}"#, #"{"at": "cancel", "what": "memory"}"#,
            #"{"at": "reconfigure", "what": "descriptor"}"#,
            #"{"at": "reconfigure", "what": "memory"}"#,
            #"{"at": "function", "what": "descriptor"}"#, #"{"at": "function", "what": "memory"}"#,
        ].map { Row("Leaks", "leaks", $0, .callAgain, .callFrees, limit: repetitionLimit) } + [
            Row(
                "LeaksWhenRefused", "leaks-when-refused",
                #"{"at": "reconfigure", "what": "memory", "name": ""}"#, .callAgain, .callFrees,
                limit: repetitionLimit)
        ]

    static let hooks: [Row] = [
        Row("Answers", "answers", #"{"hook": "serialize", "how": "_exit"}"#, .hooks, .noExit),
        Row("Answers", "answers", #"{"hook": "serialize", "how": "fail"}"#, .hooks, .callReason),
        Row("Answers", "answers", #"{"hook": "trust", "how": "abort"}"#, .hooks, .noCrash),
        Row("Answers", "answers", #"{"hook": "trust", "how": "fail"}"#, .hooks, .callReason),
        Row(
            "Answers", "answers", #"{"hook": "trust", "how": "wait"}"#, .nonblocking,
            .callNonblocking),
        Row("Answers", "answers", #"{"how": "keep"}"#, .functions, .handleLate),
        Row("BadText", "bad-text", #"{"to": "caller"}"#, .functions, .valueKnown),
        Row("CopiesTable", .hooks, .handleOwn),
        Row("Forks", .hooks, .noFork),
        Row("IgnoresRefusals", "ignores-refusals", #"{"hook": "prepare"}"#, .hooks, .valueKnown),
        Row("IgnoresRefusals", "ignores-refusals", #"{"hook": "process"}"#, .hooks, .valueKnown),
        Row("IgnoresRefusals", "ignores-refusals", #"{"hook": "will_send"}"#, .hooks, .valueKnown),
        Row("IgnoresRefusals", "ignores-refusals", #"{"hook": "serialize"}"#, .hooks, .valueKnown),
        Row("IgnoresRefusals", "ignores-refusals", #"{"hook": "call"}"#, .functions, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "level"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "url"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "watch"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "result"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "name"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "snapshot"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "buffer"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "key"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "service"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "timer"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "send"}"#, .hooks, .valueKnown),
        Row("RefusedCalls", "refused-calls", #"{"call": "setting"}"#, .hooks, .valueKnown),
        Row("Hangs", "hangs", #"{"hook": "prepare", "how": "_Fork"}"#, .hooks, .noFork),
        Row("Hangs", "hangs", #"{"hook": "prepare", "how": "closefrom"}"#, .hooks, .stateProcess),
        Row("Hangs", "hangs", #"{"hook": "prepare", "how": "clone"}"#, .hooks, .noFork),
        Row(
            "Hangs", "hangs", #"{"hook": "adapt", "how": "hang"}"#, .hooks, .settleInTime, limit: 12
        ),
        Row("Hangs", "hangs", #"{"hook": "will_send", "how": "exit"}"#, .hooks, .noExit),
        Row("Hangs", "hangs", #"{"hook": "process", "how": "quick_exit"}"#, .hooks, .noExit),
        Row("HugeLengths", .hooks, .valueKnown),
        Row("LateSettle", .hooks, .handleLate, limit: 12),
        Row("NeverSettles", .hooks, .settleInTime, limit: 12),
        Row("NoReason", .hooks, .callReason),
        Row("OddValues", "odd-values", #"{"mode": "adapt_done"}"#, .hooks, .valueKnown),
        Row("OddValues", "odd-values", #"{"mode": "prepare"}"#, .hooks, .valueKnown),
        Row("OddValues", "odd-values", #"{"mode": "quiesce"}"#, .create, .valueKnown),
        Row("RawExit", .hooks, .noExit),
        Row("RawExit", "raw-exit", #"{"how": "thread"}"#, .hooks, .noExit),
        Row("RawText", .hooks, .noOutput),
        Row("LogsAfterEnd", .hooks, .endInTime),
        Row("LogsAfterEnd", "logs-after-end", #"{"with": "timer"}"#, .hooks, .endInTime),
        Row("LogsAfterEnd", "logs-after-end", #"{"with": "send"}"#, .hooks, .endInTime),
        Row("LogsAfterEnd", "logs-after-end", #"{"with": "extension"}"#, .hooks, .endInTime),
        Row("LogsAfterEnd", "logs-after-end", #"{"with": "quiesced"}"#, .hooks, .endInTime),
        Row("LogsAfterEnd", "logs-after-end", #"{"with": "is_awaited"}"#, .hooks, .endInTime),
        Row(
            "ChangesState", "changes-state", #"{"what": "default stack"}"#, .state, .stateProcess),
        Row("Prints", .hooks, .noOutput),
        Row("SettlesTwice", .hooks, .settleOnce),
        Row("Streams", "streams", #"{"send": "2", "length": "1500"}"#, .hooks, .valueKnown),
        Row("Streams", "streams", #"{"send": "2", "length": "2500"}"#, .hooks, .valueKnown),
        Row(
            "Streams", "streams", #"{"send": "2", "length": "2500", "how": "later"}"#, .hooks,
            .valueKnown),
        Row(
            "Streams", "streams", #"{"send": "2", "length": "9223372036854775807"}"#, .hooks,
            .valueKnown),
        Row("ThrowsException", .hooks, .noCrash),
        Row("ThrowsInThread", .hooks, .noCrash),
        Row("TornDown", .hooks, .settleOnce),
        Row("WrongHandles", .hooks, .handleOwn),
        Row("WrongHandles", .hooks, .endAsked),
        Row("WorksAfterEnd", "works-after-end", #"{"how": "work"}"#, .hooks, .endInTime),
        Row("WrongThread", .hooks, .handleThread),
        Row("BlocksInCancel", .cancel, .callNonblocking),
        Row("BlocksNonblocking", .nonblocking, .callNonblocking),
        Row(
            "BlocksNonblocking", "blocks-nonblocking", #"{"until": "fifth"}"#, .nonblocking,
            .callNonblocking),
        Row(
            "BlocksNonblocking", "blocks-nonblocking", #"{"until": "redirect"}"#, .nonblocking,
            .callNonblocking),
        Row("HangsInCancel", .shutdown, .endInTime, limit: 3),
        Row("LyingSignature", .functions, .noCrash),
        Row("OddValues", .functions, .valueKnown),
    ]

    /// Where a fixture passes texts that are not UTF-8.
    static let badTexts = [
        "fail", "done", "retry_done", "redirect_done", "log", "fact", "url", "attribute", "error",
    ].map { Row("BadText", "bad-text", #"{"to": "\#($0)"}"#, .hooks, .valueKnown) }

    /// The types and values of a serializer that the ABI forbids.
    static let values = ["null", "huge", "long", "bytes", "escape", "none", "json", "text"].map {
        Row("Serializes", "serializes", #"{"how": "\#($0)"}"#, .hooks, .valueKnown)
    }

    static let changes = [
        "umask", "directory", "locale", "environment", "clearenv", "signal", "rt signal", "limit",
        "signal limit", "stream", "alarm", "timer", "rounding", "mask", "thread locale",
        "cancel type", "cancel state", "filter", "priority", "dumpable", "blocking",
        "thread name", "session", "group",
    ]

    @Test func `a request that takes longer than the time limit passes while its pieces go on`()
        async throws
    {
        let result = try #require(
            await checked("libFaultySlowPieces.so", [:], [.hooks], limit: 2).first)
        #expect(result.verdict == .passed, "\(result.findings)")
    }

    @Test(arguments: files + instances + hooks + leaks + badTexts + values)
    func `a faulty plugin fails its test, and the finding names the rule`(row: Row) async throws {
        let result = try await checked(
            "libFaulty\(row.plugin).so", row.configuration, [row.test], limit: row.limit)[0]
        #expect(result.verdict == .failed)
        #expect(
            result.findings.contains { $0.rule == row.rule && !$0.isWarning },
            "\(result.findings)")
        for finding in result.findings {
            #expect(!finding.advice.isEmpty)
            // `--only RULE` runs the test, too.
            let tests = CheckTest.named(finding.rule.rawValue)
            #expect(tests?.contains(row.test) == true, "\(finding.rule.rawValue)")
        }
    }

    @Test
    func `the finding for a function that returns no status names the function and the number`()
        async throws
    {
        let result = try await checked("libFaultyOddValues.so", [:], [.functions])[0]
        #expect(
            result.findings.map(\.message) == [
                "faulty.odd-values: call of 'odd' failed: it returned 77, which is no status"
            ])
    }

    @Test(arguments: [
        ("adapt_done", "adapt", "settled with 77"),
        ("retry_done", "retry", "settled with the verdict 77"),
        ("prepare", "prepare", "it returned 77"),
    ])
    func `an undefined status or verdict is one finding, which names it`(
        mode: String, hook: String, fact: String
    ) async throws {
        let result = try await checked(
            "libFaultyOddValues.so", ["faulty.odd-values": #"{"mode": "\#(mode)"}"#], [.hooks])[0]
        #expect(result.findings.map(\.rule) == [.valueKnown], "\(result.findings)")
        let message = try #require(result.findings.first).message
        #expect(message.contains(hook) && message.contains(fact), "\(message)")
    }

    @Test func `the finding for a refused change in a function names the function`() async throws {
        let result = try await checked(
            "libFaultyIgnoresRefusals.so", ["faulty.ignores-refusals": #"{"hook": "call"}"#],
            [.functions])[0]
        #expect(
            result.findings.map(\.message) == [
                "faulty.ignores-refusals: call of 'change': request_set_header of 'X': not in this "
                    + "hook: the host refused it, and the function did not fail"
            ])
    }

    @Test(arguments: ["first", "both"], 1...3 as ClosedRange<UInt64>)
    func `a crash for one value or pair of values is found with each seed`(
        what: String, seed: UInt64
    ) async throws {
        let result = try await checked(
            "libFaultyTrustsValues.so", ["faulty.trusts-values": #"{"what": "\#(what)"}"#],
            [.functions], seed: seed)[0]
        #expect(result.findings.first?.rule == .noCrash, "\(result.findings)")
    }

    @Test func `values for which functions work are no findings`() async throws {
        let result = try await checked("libFaultyTrustsValues.so", [:], [.functions])[0]
        #expect(result.verdict == .passed, "\(result.findings)")
    }

    @Test func `a hook that was called too seldom to be measured is noted`() async throws {
        let result = try await checked(
            "libFaultyBlocksNonblocking.so",
            ["faulty.blocks-nonblocking": #"{"until": "answer"}"#], [.nonblocking])[0]
        #expect(result.verdict == .passed, "\(result.findings)")
        #expect(result.notes.count == 1)
        #expect(
            result.notes.first?.hasPrefix(
                "faulty.blocks-nonblocking: redirect was called 0 times only") == true)
    }

    @Test func `a configuration for an id that is not in the file is named first`() async throws {
        let result = try await checked(
            "libFaultyCreateFails.so", ["faulty.create-fail": "{}"], [.create])[0]
        let finding = try #require(result.findings.first)
        #expect(
            finding.message.hasPrefix("configuration for 'faulty.create-fail': no such plugin"),
            "\(result.findings)")
        #expect(finding.advice.hasPrefix("name a plugin of the file"))
    }

    @Test(arguments: changes)
    func `the finding for changed process or thread state names the hook`(
        change: String
    ) async throws {
        let result = try await checked(
            "libFaultyChangesState.so",
            ["faulty.changes-state": #"{"what": "\#(change)"}"#], [.state])[0]
        let isOfThread = [
            "rounding", "mask", "thread locale", "cancel type", "cancel state", "filter",
            "priority", "dumpable", "thread name", "session", "group",
        ].contains(change)
        let finding = try #require(result.findings.first)
        #expect(finding.rule == (isOfThread ? .stateThread : .stateProcess))
        #expect(finding.message.contains("faulty.changes-state: will_send changes "))
    }

    @Test(.enabled(if: geteuid() == 0, "only root may change the groups"))
    func `the finding for changed groups names them`() async throws {
        let result = try await checked(
            "libFaultyChangesState.so", ["faulty.changes-state": #"{"what": "groups"}"#], [.state]
        )[0]
        let finding = try #require(result.findings.first)
        #expect(finding.rule == .stateProcess)
        #expect(finding.message.contains("faulty.changes-state: will_send changes the groups"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root may change the root directory"))
    func `the finding for a changed root directory does not name the current one`() async throws {
        let result = try await checked(
            "libFaultyChangesState.so", ["faulty.changes-state": #"{"what": "root"}"#], [.state])[0]
        #expect(result.findings.map(\.rule) == [.stateThread], "\(result.findings)")
        let message = try #require(result.findings.first).message
        #expect(message.contains("faulty.changes-state: will_send changes the root directory"))
    }

    @Test(arguments: ["reconfigure", "cancel"])
    func `the state is compared around hooks without a request`(hook: String) async throws {
        let result = try await checked(
            "libFaultyChangesState.so",
            ["faulty.changes-state": #"{"what": "umask", "in": "\#(hook)"}"#], [.state])[0]
        let finding = try #require(result.findings.first)
        #expect(finding.rule == .stateProcess)
        #expect(finding.message.contains("faulty.changes-state: \(hook) changes the umask"))
    }

    // What the host keeps of an instance must not count as a leak of each.
    @Test func `several plugins in a file that leak nothing pass`() async throws {
        let result = try await checked("libFaultySeveral.so", [:], [.createAgain])[0]
        #expect(result.verdict == .passed, "\(result.findings)")
    }

    @Test(arguments: [
        ("create", [CheckTest.createAgain], PluginRule.destroyFrees),
        ("prepare", [.hooks, .overlap, .callAgain], .callFrees),
        ("function", [.functions, .callAgain], .callFrees),
    ])
    func `of a plugin that leaks very many threads, these are the only finding`(
        place: String, tests: [CheckTest], rule: PluginRule
    ) async throws {
        let results = try await checked(
            "libFaultyLeaks.so", ["faulty.leaks": #"{"at": "\#(place)", "what": "threads"}"#], tests
        )
        #expect(results.contains { $0.findings.map(\.rule) == [rule] })
        for result in results {
            #expect(result.verdict == .failed, "\(result.test)")
            #expect(result.findings.allSatisfy { $0.rule == rule }, "\(result.findings)")
            let message = result.findings.first?.message ?? ""
            #expect(
                message.hasPrefix("faulty.leaks: ") && message.contains(" threads"), "\(message)")
        }
    }

    @Test(arguments: [
        ("create", CheckTest.createAgain, "instances left"),
        ("prepare", .callAgain, "requests left"),
    ])
    func `the finding for a leak names the plugin of several, and what was repeated`(
        place: String, test: CheckTest, words: String
    ) async throws {
        let result = try await checked(
            "libFaultySeveralLeak.so", ["several-leak.second": #"{"at": "\#(place)"}"#], [test],
            limit: Self.repetitionLimit)[0]
        let message = try #require(result.findings.first).message
        #expect(message.hasPrefix("several-leak.second: ") && message.contains(words), "\(message)")
        #expect(!message.contains("several-leak.first") && !message.contains("several-leak.third"))
    }

    @Test func `values that differ in each request are not taken for shared state`() async throws {
        let result = try await checked(
            "libFaultySharesState.so", ["faulty.shares-state": #"{"what": "none"}"#], [.instances])[
                0]
        #expect(result.verdict == .passed, "\(result.findings)")
    }

    @Test func `a thread that only waits after the end of the instances is allowed`() async throws {
        let result = try await checked("libFaultyWorksAfterEnd.so", [:], [.hooks])[0]
        #expect(result.verdict == .passed, "\(result.findings)")
    }

    @Test func `the host's line about a copy is no output of the plugin, and names the plugin`()
        async throws
    {
        let result = try await checked("libFaultyForks.so", [:], [.hooks])[0]
        #expect(result.findings.map(\.rule) == [.noFork])
        let message = try #require(result.findings.first).message
        #expect(
            message.contains("plugin faulty.forks: has copied the process with fork() in prepare"))
    }

    @Test func `a process that a plugin leaves behind is reported and ended`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        let fifo = FileDescriptor(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC))
        let result = try await checked(
            "libFaultyStartsProcess.so", ["faulty.starts-process": #"{"fifo": "\#(path)"}"#],
            [.create])[0]
        #expect(result.findings.map(\.rule) == [.destroyFrees], "\(result.findings)")
        let message = try #require(result.findings.first).message
        #expect(message.hasPrefix("processes that the plugin has started run after its end: 1, "))
        // The end of the file: nothing has it open for writing.
        var bytes = [UInt8](repeating: 0, count: 16)
        var count = read(fifo.number, &bytes, bytes.count)
        if count > 0 { count = read(fifo.number, &bytes, bytes.count) }
        #expect(count == 0)
    }

    @Test func `the advice about a slow cancel is not to leave out a flag`() async throws {
        let result = try await checked("libFaultyBlocksInCancel.so", [:], [.cancel])[0]
        let finding = try #require(result.findings.first)
        #expect(finding.rule == .callNonblocking)
        #expect(!finding.advice.contains("OUTLET_F_NONBLOCKING"), "\(finding.advice)")
    }

    @Test func `the advice about a directory is to give a file`() async throws {
        let folder = try TemporaryDirectory()
        var check = PluginCheck(file: folder.url.path, seed: 1)
        check.tests = [.file]
        check.program = try Products.path("outlet")
        let results = Recorder<CheckResult>()
        try await offPool { [check] in check.run { results.record($0) } }
        let finding = try #require(results.values.first?.findings.first)
        #expect(finding.rule == .fileSafe && finding.message.contains("it is a directory"))
        #expect(finding.advice.contains("regular file") && !finding.advice.contains("chmod"))
    }

    @Test func `hooks that wait for each other may together take longer than the limit`()
        async throws
    {
        // 16 requests at a time would take 4.8 s.
        let result = try await checked("libFaultySlowHooks.so", [:], [.overlap], limit: 3)[0]
        #expect(result.verdict == .passed, "\(result.findings)")
    }

    @Test(arguments: ["FailingHooks", "LaterQuiesce", "NullHooks", "Obliging"])
    func `unusual but allowed behaviour breaks no rule`(plugin: String) async throws {
        let tests = [CheckTest.load, .create, .instances, .hooks, .shutdown, .exit]
        for result in try await checked("libFaulty\(plugin).so", [:], tests) {
            #expect(result.verdict != .failed, "\(result.test): \(result.findings)")
        }
    }

    @Test func `a plugin can keep files in its data directory`() async throws {
        let tests = [CheckTest.create, .createAgain, .reconfigure, .instances, .functions]
        for result in try await checked(
            "libFaultyReconfigured.so", ["faulty.reconfigured": #"{"word": "stored"}"#], tests)
        {
            #expect(result.verdict == .passed, "\(result.test): \(result.findings)")
        }
    }

    @Test(arguments: ["cache", "stacks"])
    func `a cache that fills up, and threads that end in a call, are no leaks`(what: String)
        async throws
    {
        let result = try await checked(
            "libFaultyLeaks.so", ["faulty.leaks": #"{"at": "prepare", "what": "\#(what)"}"#],
            [.callAgain])[0]
        #expect(result.verdict == .passed, "\(result.findings)")
    }

    @Test func `slow hooks that return in time pass the tests that repeat them`() async throws {
        for result in try await checked(
            "libFaultySlowHooks.so", [:], [.instances, .hooks, .callAgain], limit: 5)
        {
            #expect(result.verdict == .passed, "\(result.test): \(result.findings)")
        }
    }

    @Test(arguments: ["setting", "handled", "json", "field", "body", "log", "reason"])
    func `a view that is used after its end is found`(what: String) async throws {
        let result = try await checked(
            "libFaultyKeepsViews.so",
            ["faulty.keeps-views": #"{"what": "\#(what)", "name": "X-Kept-Name"}"#], [.hooks])[0]
        #expect(result.findings.map(\.rule) == [.viewLate], "\(result.findings)")
        #expect(result.findings.first?.message.contains("after the view's end") == true)
    }

    @Test func `a copy of a view that is used later is no finding`() async throws {
        for result in try await checked(
            "libFaultyKeepsViews.so",
            ["faulty.keeps-views": #"{"what": "copy", "name": "X-Kept-Name"}"#],
            [.create, .hooks, .overlap])
        {
            #expect(result.verdict == .passed && result.findings.isEmpty, "\(result.findings)")
        }
    }

    @Test func `keywords of a schema without effect are a warning, with the ones they resemble`()
        async throws
    {
        let result = try await checked("libFaultyMisspeltSchema.so", [:], [.load])[0]
        #expect(result.verdict == .passed)
        #expect(
            result.findings.map(\.message) == [
                "'faulty.misspelt-schema': keywords of its schema have no effect: /propeties (did you "
                    + "mean 'properties'?), /properties/Type/maxlength (did you mean 'maxLength'?), "
                    + "/properties/Type/hint"
            ])
        #expect(result.findings.first?.rule == .configSchema)
    }

    @Test func `a refused change that another change replaces is a warning`() async throws {
        let result = try await checked(
            "libFaultyIgnoresRefusals.so", ["faulty.ignores-refusals": #"{"hook": "replacing"}"#],
            [.hooks])[0]
        #expect(result.verdict == .passed)
        #expect(result.findings.map(\.rule) == [.valueKnown])
        #expect(result.findings.first?.message.contains("Content-Length") == true)
    }
}

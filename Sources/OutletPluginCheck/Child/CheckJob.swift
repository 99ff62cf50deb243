import OutletHTTP

/// One test to run, which the child process reads from standard input as a line of JSON.
struct CheckJob: Sendable {
    var test: CheckTest
    var file: String
    /// Configuration by plugin id, as JSON objects.
    var configuration: [String: String]
    var seed: UInt64
    /// The time limit of the test.
    var limit: Duration
    /// The prefix of each line of the child's report.
    ///
    /// It is random, so that output of a plugin is not taken for a line of the report.
    var mark: String
    /// The exit code of the child at its own end.
    ///
    /// It is random, so that a plugin's exit handler that ends the process has another one.
    var exitCode: Int32

    /// The exit codes to choose from: none that programs commonly end with.
    static let exitCodes: Range<Int32> = 80..<120

    /// The time limit in nanoseconds.
    private var limitCount: Int64 { Int64(limit / .nanoseconds(1)) }

    /// The job as a line of JSON, including the newline.
    var line: String {
        let configuration = JSONObject(
            configuration.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
        let value: JSONValue = [
            "test": .string(test.rawValue), "file": .string(file), "mark": .string(mark),
            "seed": .string("\(seed)"), "limit": .int(limitCount), "exit": .int(Int64(exitCode)),
            "configuration": .object(configuration),
        ]
        return value.text(.compact) + "\n"
    }

    init(
        test: CheckTest, file: String, configuration: [String: String], seed: UInt64,
        limit: Duration, mark: String, exitCode: Int32
    ) {
        self.test = test
        self.file = file
        self.configuration = configuration
        self.seed = seed
        self.limit = limit
        self.mark = mark
        self.exitCode = exitCode
    }

    /// Parses a line without its newline; `nil` when it is not a valid job.
    init?(_ line: [UInt8]) {
        guard let value = try? JSONValue(parsing: line),
            let test = value["test"]?.stringValue.flatMap(CheckTest.init),
            let file = value["file"]?.stringValue, let mark = value["mark"]?.stringValue,
            let seed = value["seed"]?.stringValue.flatMap({ UInt64($0) }),
            let limit = value["limit"]?.intValue,
            let exitCode = value["exit"]?.intValue.flatMap({ Int32(exactly: $0) }),
            let members = value["configuration"]?.objectValue
        else { return nil }
        var configuration: [String: String] = [:]
        for member in members { configuration[member.name] = member.value.stringValue }
        self.init(
            test: test, file: file, configuration: configuration, seed: seed,
            limit: .nanoseconds(limit), mark: mark, exitCode: exitCode)
    }
}

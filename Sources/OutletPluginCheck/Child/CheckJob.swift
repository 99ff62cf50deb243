import OutletHTTP

/// What a child is to test: a line of JSON on its standard input.
struct CheckJob: Sendable {
    var test: CheckTest
    var file: String
    /// Configuration by plugin id, as JSON objects.
    var configuration: [String: String]
    var seed: UInt64
    /// How long the test may take.
    var limit: Duration
    /// What each line of the child's report begins with.
    var mark: String

    /// In nanoseconds.
    private var limitCount: Int64 { Int64(limit / .nanoseconds(1)) }

    /// The line, with its end.
    var line: String {
        let configuration = JSONObject(
            configuration.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
        let value: JSONValue = [
            "test": .string(test.rawValue), "file": .string(file), "mark": .string(mark),
            "seed": .string("\(seed)"), "limit": .int(limitCount),
            "configuration": .object(configuration),
        ]
        return value.text(.compact) + "\n"
    }

    init(
        test: CheckTest, file: String, configuration: [String: String], seed: UInt64,
        limit: Duration, mark: String
    ) {
        self.test = test
        self.file = file
        self.configuration = configuration
        self.seed = seed
        self.limit = limit
        self.mark = mark
    }

    /// Reads a line.
    init?(_ line: [UInt8]) {
        guard let value = try? JSONValue(parsing: line),
            let test = value["test"]?.stringValue.flatMap(CheckTest.init),
            let file = value["file"]?.stringValue, let mark = value["mark"]?.stringValue,
            let seed = value["seed"]?.stringValue.flatMap({ UInt64($0) }),
            let limit = value["limit"]?.intValue,
            let members = value["configuration"]?.objectValue
        else { return nil }
        var configuration: [String: String] = [:]
        for member in members { configuration[member.name] = member.value.stringValue }
        self.init(
            test: test, file: file, configuration: configuration, seed: seed,
            limit: .nanoseconds(limit), mark: mark)
    }
}

internal import FoundationEssentials

/// Runs programs for tests, in an environment that is the same on every machine.
public enum Program {
    /// How a program ended, and what it printed.
    public struct Result: Sendable {
        /// The exit code; `nil` if a signal ended the program.
        public let exitCode: Int32?
        /// The signal that ended the program, if one did.
        public let signal: Int32?
        /// All bytes of standard output.
        public let standardOutput: [UInt8]
        /// All bytes of standard error; empty if it ran on a terminal.
        public let standardError: [UInt8]

        /// Standard output as text; invalid UTF-8 is replaced.
        public var output: String { String(decoding: standardOutput, as: UTF8.self) }
        /// Standard error as text; invalid UTF-8 is replaced.
        public var errorOutput: String { String(decoding: standardError, as: UTF8.self) }
    }

    /// The default environment variables of a program: no proxies, no home directory, no colours.
    ///
    /// Variables with the settings of a sanitizer (`…SAN_OPTIONS`) are taken from the test process.
    public static let environment = [
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
    ].merging(
        ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
    ) { $1 }

    /// Runs a program and waits for its end.
    ///
    /// - Parameters:
    ///   - path: The program's absolute path.
    ///   - arguments: The arguments after the program's name.
    ///   - environment: Variables added to ``environment``; these take precedence.
    ///   - directory: The working directory; `nil` is that of the tests.
    ///   - standardInput: The bytes that the program reads from standard input before its end.
    ///   - deadline: How long the program may run, times ``patience``.
    /// - Returns: How the program ended.
    /// - Throws: ``TestSupportError`` if the program did not start, or was killed at the deadline;
    ///   the error then contains its output.
    public static func run(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:],
        directory: String? = nil, standardInput: [UInt8] = [],
        deadline: Duration = .seconds(60)
    ) async throws -> Result {
        let program = try RunningProgram(
            path, arguments, environment: environment, directory: directory,
            standardInput: .bytes(standardInput))
        return try await program.result(within: deadline)
    }
}

internal import FoundationEssentials

/// A program started by a test, in an environment that is the same on every machine.
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

    /// What a program finds unless a test says otherwise: no proxies, no home, no colours asked for.
    ///
    /// A sanitizer's settings are those of the tests.
    public static let environment = [
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
    ].merging(
        ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
    ) { $1 }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - path: The program's absolute path.
    ///   - arguments: The arguments behind the program's name.
    ///   - environment: Variables beside those of ``environment``; these win.
    ///   - directory: The working directory; `nil` is that of the tests.
    ///   - standardInput: What the program reads; then the end.
    ///   - deadline: How long the program may take.
    /// - Returns: How the program ended.
    /// - Throws: ``TestSupportError`` if it did not start, or had to be killed at the deadline; the
    ///   message has what it printed.
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

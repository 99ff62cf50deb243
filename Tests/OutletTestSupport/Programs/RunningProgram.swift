internal import CSpawn
internal import Glibc
internal import OutletSession
internal import OutletTransport

/// A running program, which is killed with its process group when this object is released.
public final class RunningProgram: Sendable {
    /// What a program reads from standard input.
    public enum Input: Sendable {
        /// The bytes, then the end.
        case bytes([UInt8])
        /// No bytes, and no end before ``closeInput()``.
        case open
    }

    /// Where standard output and standard error go.
    public enum Output: Sendable {
        /// To one pipe each.
        case pipes
        /// Both to one pseudo terminal of this width.
        case terminal(columns: UInt16)
        /// To one pipe each; standard output is not read any further after this many bytes.
        case unread(after: Int)
    }

    /// The process id, which is also the id of the program's process group.
    public let processID: Int32

    private let path: String
    private let ended = Once<Int32>()
    private let output: OutputCollector
    private let error: OutputCollector
    private let input = Lock<FileDescriptor?>(nil)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: The program's absolute path.
    ///   - arguments: The arguments after the program's name.
    ///   - environment: Variables added to ``Program/environment``; these take precedence.
    ///   - directory: The working directory; `nil` is that of the tests.
    ///   - standardInput: What the program reads from standard input; by default it is empty.
    ///   - standardOutput: Where standard output and standard error go.
    ///   - descriptors: The descriptors that the program inherits as 3, 4 and so on.
    /// - Throws: ``TestSupportError`` if the program does not start.
    public init(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:],
        directory: String? = nil, standardInput: Input = .bytes([]),
        standardOutput: Output = .pipes, inheriting descriptors: [FileDescriptor] = []
    ) throws {
        let inputEnds = try Self.makeInput(standardInput)
        input.withLock { $0 = inputEnds.writer }
        let outputEnds: (reader: FileDescriptor, writer: FileDescriptor)
        let errorEnds: (reader: FileDescriptor, writer: FileDescriptor)?
        switch standardOutput {
        case .pipes, .unread:
            outputEnds = try FileDescriptor.pipe()
            errorEnds = try FileDescriptor.pipe()
        case .terminal(let columns):
            outputEnds = try FileDescriptor.terminal(columns: columns)
            errorEnds = nil
        }
        processID = try Self.spawn(
            path, arguments, environment: environment, directory: directory,
            descriptors: [inputEnds.reader, outputEnds.writer, (errorEnds ?? outputEnds).writer]
                + descriptors)
        self.path = path
        let limit: Int = if case .unread(let limit) = standardOutput { limit } else { .max }
        output = try OutputCollector(reader: outputEnds.reader, limit: limit)
        error = try errorEnds.map { try OutputCollector(reader: $0.reader) } ?? OutputCollector()

        try onOwnThread { [processID, ended] in ended.set(wait_for_program(processID)) }
    }

    deinit {
        signal(SIGKILL)
    }

    /// Makes the program's standard input before the program starts: a program that finds it open and
    /// silent may say so.
    ///
    /// - Returns: The end for the program; and the other one if it stays open.
    private static func makeInput(
        _ input: Input
    ) throws -> (reader: FileDescriptor, writer: FileDescriptor?) {
        let (reader, writer) = try FileDescriptor.pipe()
        guard case .bytes(let bytes) = input else { return (reader, writer) }
        if !bytes.isEmpty { try onOwnThread { writer.write(bytes[...]) } }
        return (reader, nil)
    }

    private static func spawn(
        _ path: String, _ arguments: [String], environment: [String: String], directory: String?,
        descriptors: [FileDescriptor]
    ) throws -> Int32 {
        let variables = Program.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        var argumentPointers = ([path] + arguments).map { strdup($0) } + [nil]
        var variablePointers = variables.map { strdup($0) } + [nil]
        defer { for pointer in argumentPointers + variablePointers { free(pointer) } }
        var processID: Int32 = 0
        let result = spawn_program(
            &processID, path, &argumentPointers, &variablePointers, directory,
            descriptors.map(\.number), Int32(descriptors.count))
        guard result == 0 else { throw TestSupportError("program: \(path)", errno: result) }
        return processID
    }

    /// Sends a signal to the program's process group; does nothing if the program has ended.
    public func signal(_ number: Int32) {
        if ended.callCount == 0 { kill(-processID, number) }
    }

    /// Closes the program's standard input, so that the program reads its end.
    public func closeInput() {
        input.withLock { $0 = nil }
    }

    /// Waits until standard output contains `text`.
    ///
    /// - Parameters:
    ///   - text: The text to wait for.
    ///   - deadline: How long to wait at most, times ``patience``.
    /// - Returns: Standard output so far.
    /// - Throws: ``TestSupportError`` if standard output ended, or the deadline passed, without the
    ///   text.
    @discardableResult
    public func output(containing text: String, within deadline: Duration = .seconds(60))
        async throws -> String
    {
        try await output.text(containing: text, within: deadline)
    }

    /// Does the same as ``output(containing:within:)`` for standard error.
    ///
    /// - Throws: ``TestSupportError`` if standard error ended, or the deadline passed, without the
    ///   text.
    @discardableResult
    public func errorOutput(containing text: String, within deadline: Duration = .seconds(60))
        async throws -> String
    {
        try await error.text(containing: text, within: deadline)
    }

    /// Waits until the program has printed something to standard output, or closed it.
    ///
    /// - Throws: ``TestSupportError`` when the deadline passes.
    public func outputBegun(within deadline: Duration = .seconds(60)) async throws {
        try await output.begun(within: deadline)
    }

    /// Waits for the program's end.
    ///
    /// - Parameter deadline: How long to wait at most, times ``patience``.
    /// - Returns: How the program ended.
    /// - Throws: ``TestSupportError`` if the program was killed at the deadline.
    public func result(within deadline: Duration = .seconds(60)) async throws -> Program.Result {
        let status: Int32
        do {
            status = try await ended.value(within: deadline)
        } catch {
            signal(SIGKILL)
            let printed = output.text + self.error.text
            throw TestSupportError("program: \(path): still ran after \(deadline): \(printed)")
        }
        return Program.Result(
            exitCode: status < 256 ? status : nil, signal: status < 256 ? nil : status - 256,
            standardOutput: try await output.all(), standardError: try await error.all())
    }
}

internal import CSpawn
internal import Glibc
internal import OutletSession
internal import OutletTransport

/// A program that runs until it ends, is signalled, or its owner is gone.
public final class RunningProgram: Sendable {
    /// What a program reads as standard input.
    public enum Input: Sendable {
        /// These bytes, then the end.
        case bytes([UInt8])
        /// Nothing, and no end until ``closeInput()``.
        case open
    }

    /// Where standard output and standard error go.
    public enum Output: Sendable {
        /// To a pipe each.
        case pipes
        /// Both to one terminal of this width in columns, as if a person watched.
        case terminal(columns: UInt16)
        /// To a pipe each, and of standard output nothing is read any more once so many bytes have
        /// come.
        case unread(after: Int)
    }

    /// The process id, which is also its process group's.
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
    ///   - arguments: The arguments behind the program's name.
    ///   - environment: Variables beside those of ``Program/environment``; these win.
    ///   - directory: The working directory; `nil` is that of the tests.
    ///   - standardInput: What it reads.
    ///   - standardOutput: Where it prints.
    ///   - descriptors: What it finds as its descriptors 3, 4 and so on.
    /// - Throws: ``TestSupportError`` if it does not start.
    public init(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:],
        directory: String? = nil, standardInput: Input = .bytes([]),
        standardOutput: Output = .pipes, inheriting descriptors: [FileDescriptor] = []
    ) throws {
        let inputPipe = try FileDescriptor.pipe()
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
            descriptors: [inputPipe.reader, outputEnds.writer, (errorEnds ?? outputEnds).writer]
                + descriptors)
        self.path = path
        let limit: Int = if case .unread(let limit) = standardOutput { limit } else { .max }
        output = try OutputCollector(reader: outputEnds.reader, limit: limit)
        error = try errorEnds.map { try OutputCollector(reader: $0.reader) } ?? OutputCollector()

        switch standardInput {
        case .open:
            input.withLock { $0 = inputPipe.writer }
        case .bytes(let bytes) where !bytes.isEmpty:
            try onOwnThread { inputPipe.writer.write(bytes[...]) }
        case .bytes:
            break
        }
        try onOwnThread { [processID, ended] in ended.set(wait_for_program(processID)) }
    }

    deinit {
        signal(SIGKILL)
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

    /// Sends a signal to the program and everything it started; nothing happens if it has ended.
    public func signal(_ number: Int32) {
        if ended.callCount == 0 { kill(-processID, number) }
    }

    /// Lets the program see the end of its standard input.
    public func closeInput() {
        input.withLock { $0 = nil }
    }

    /// Waits until standard output contains a text.
    ///
    /// - Returns: Standard output so far.
    /// - Throws: ``TestSupportError`` if it ended or the deadline passed without the text.
    @discardableResult
    public func output(containing text: String, within deadline: Duration = .seconds(60))
        async throws -> String
    {
        try await output.text(containing: text, within: deadline)
    }

    /// As ``output(containing:within:)``, of standard error.
    @discardableResult
    public func errorOutput(containing text: String, within deadline: Duration = .seconds(60))
        async throws -> String
    {
        try await error.text(containing: text, within: deadline)
    }

    /// Waits until something has come on standard output.
    public func outputBegun(within deadline: Duration = .seconds(60)) async throws {
        try await output.begun(within: deadline)
    }

    /// Waits for the program's end.
    ///
    /// - Throws: ``TestSupportError`` if it had to be killed at the deadline.
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

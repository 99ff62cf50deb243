import CSpawn
import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP

/// Runs one test in a child process, collects its output and kills it at the time limit.
struct CheckProcess {
    /// How the process ended.
    enum End: Sendable, Equatable {
        /// It ended with the job's exit code.
        case ended
        /// It ended with another exit code.
        case exited(Int32)
        case signalled(Int32)
        /// The checker killed it at the time limit.
        case killed
        /// It could not be started.
        case notStarted(String)
    }

    /// The end of the process and what it wrote.
    struct Outcome: Sendable {
        var end: End
        var lines: [CheckLine] = []
        /// The bytes written to standard output; at most ``kept``.
        var output: [UInt8] = []
        /// The bytes written to standard error; at most ``kept``.
        var errors: [UInt8] = []
        /// The lines of ``PluginWatch``, which name plugins; at most ``kept`` bytes.
        var watch: [UInt8] = []
    }

    /// The number of bytes kept of each stream; further bytes are read and discarded.
    private static let kept = 1 << 20

    /// The command-line argument that makes the program run as a child of a checker.
    static let argument = "--plugin-check-child"

    /// Runs a test until it ends or its time limit passes.
    ///
    /// Blocks the calling thread meanwhile.
    ///
    /// - Parameters:
    ///   - job: The test and its time limit.
    ///   - program: The path of the program, which calls ``PluginCheckChild/run()``.
    static func run(_ job: CheckJob, program: String) -> Outcome {
        var streams: [(reader: Int32, writer: Int32)] = []
        defer { for stream in streams { close(stream.reader) } }
        for _ in 0..<5 {
            var ends: [Int32] = [-1, -1]
            guard private_pipe(&ends) == 0 else {
                for stream in streams { close(stream.writer) }
                return Outcome(end: .notStarted(systemText(errno)))
            }
            streams.append((ends[0], ends[1]))
        }
        let (input, read) = (streams[0], Array(streams[1...]))
        // The child's TMPDIR, so that temporary files are removed after the test. Its current directory
        // is below it.
        let temporary = FileManager.default.temporaryDirectory.absoluteURL
        let directory = temporary.appending(path: "outlet-check-\(UUID().uuidString)")
        let code = RunningTests.makeDirectory(directory)
        guard code == 0 else {
            let reason =
                "no directory can be made in \(temporary.path): \(systemText(code)); set TMPDIR to "
                + "one that can be written to"
            for stream in read { close(stream.writer) }
            close(input.writer)
            return Outcome(end: .notStarted(reason))
        }
        defer { RunningTests.removeDirectory(directory) }
        var child: pid_t = 0
        let result = RunningTests.start(&child) { child in
            spawn(
                program, [input.reader] + read.map(\.writer),
                temporaryDirectory: directory.path, &child)
        }
        for stream in read { close(stream.writer) }
        guard result == 0 else {
            close(input.writer)
            return Outcome(end: .notStarted(systemText(result)))
        }
        // Open until the test is over: the test kills its process group when this descriptor is
        // closed, also when the checker ends before the test.
        defer { close(input.writer) }
        var (contents, isWhole) = collect(
            read.map(\.reader), within: job.limit, writing: Array(job.line.utf8),
            to: input.writer)
        // After its report, the child may take the time of another step to end.
        let deadline = isWhole ? ContinuousClock.now + job.limit : .now
        let isOver = RunningTests.wait(for: [child], until: deadline)
        let status = RunningTests.end(child)
        // Reads the rest of the output; nothing writes to the pipes any more.
        for (index, stream) in read.enumerated() where index != reportIndex {
            drain(stream.reader, &contents[index])
        }
        let lines = String(decoding: contents[reportIndex], as: UTF8.self).lines
        return Outcome(
            end: isOver ? end(status, of: job) : .killed,
            lines: lines.compactMap { CheckLine($0, mark: job.mark) },
            output: contents[0], errors: contents[1], watch: contents[3])
    }

    private static func end(_ status: Int32, of job: CheckJob) -> End {
        if status >= 256 { return .signalled(status - 256) }
        return status == job.exitCode ? .ended : .exited(status)
    }

    private static func spawn(
        _ program: String, _ descriptors: [Int32], temporaryDirectory: String,
        _ child: inout pid_t
    ) -> Int32 {
        // Without a Swift backtrace: the checker reports the crash, and a backtrace takes time.
        var environment = ["SWIFT_BACKTRACE=enable=no", "TMPDIR=\(temporaryDirectory)"]
        // Without a cache of stacks: those of threads that have ended would count as mappings that
        // the plugin has left.
        var tunables = "glibc.pthread.stack_cache_size=0"
        var entry = environ
        while let text = entry.pointee.map({ String(cString: $0) }) {
            if let (name, value) = text.cut(at: "="), name.hasSameBytes(as: "GLIBC_TUNABLES") {
                tunables = "\(value):\(tunables)"
            } else if !text.startsWithBytes(of: "SWIFT_BACKTRACE="),
                !text.startsWithBytes(of: "TMPDIR=")
            {
                environment.append(text)
            }
            entry += 1
        }
        environment.append("GLIBC_TUNABLES=\(tunables)")
        let arguments = cStrings(["outlet", argument])
        let variables = cStrings(environment)
        defer { for text in arguments + variables { free(text) } }
        return spawn_program(
            &child, program, arguments, variables, nil, descriptors, Int32(descriptors.count))
    }

    /// Copies of texts, which the caller must free, followed by a null pointer.
    private static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { text in strdup(text) } + [nil]
    }

    /// How many times the time limit a test may take, if it reports steps until then.
    static let longestTest = 6

    /// The index of the report among the streams that the child writes, which are its descriptors
    /// from standard output on.
    private static let reportIndex = 2

    /// Reads streams of the child until the report ends, or the time limit has passed since the test
    /// has begun its last step; writes the job meanwhile.
    ///
    /// - Returns: The bytes read from each, and whether the report has ended.
    private static func collect(
        _ readers: [Int32], within limit: Duration, writing job: [UInt8], to writer: Int32
    ) -> (contents: [[UInt8]], isWhole: Bool) {
        _ = fcntl(writer, F_SETFL, O_NONBLOCK)
        var job = job[...]
        let start = ContinuousClock.now
        var deadline = start + limit
        var descriptors = readers
        var contents = [[UInt8]](repeating: [], count: readers.count)
        while descriptors[reportIndex] >= 0 {
            let left = (deadline - .now) / .milliseconds(1)
            guard left > 0 else { break }
            var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            polled.append(
                pollfd(fd: job.isEmpty ? -1 : writer, events: Int16(POLLOUT), revents: 0))
            let milliseconds = Int32(clamping: Int64(left) + 1)
            guard poll(&polled, nfds_t(polled.count), milliseconds) >= 0 || errno == EINTR else {
                break
            }
            if let input = polled.popLast(), input.revents != 0 {
                let count = job.withUnsafeBytes { write(writer, $0.baseAddress, $0.count) }
                if count > 0 { job = job.dropFirst(count) }
            }
            for index in polled.indices where polled[index].revents != 0 {
                let known = contents[index].count
                if readPiece(of: descriptors[index], to: &contents[index]) <= 0 {
                    descriptors[index] = -1
                } else if index == reportIndex {
                    // From a little before, because the piece may begin inside of a line.
                    if CheckLine.hasStep(contents[index][max(0, known - 128)...]) {
                        deadline = min(.now + limit, start + limit * longestTest)
                    }
                    if contents[index].count > kept / 2 {
                        contents[index] = CheckLine.withoutEarlierSteps(contents[index])
                    }
                }
            }
        }
        return (contents, descriptors[reportIndex] < 0)
    }

    private static func readPiece(of descriptor: Int32, to content: inout [UInt8]) -> Int {
        var got = 0
        let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            got = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            count = max(got, 0)
        }
        content += piece.prefix(max(0, kept - content.count))
        return got
    }

    private static func drain(_ descriptor: Int32, _ content: inout [UInt8]) {
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        while readPiece(of: descriptor, to: &content) > 0 {}
    }
}

internal import OutletSession
internal import OutletTransport

/// Makes completion handlers and checks that each of them is called exactly once.
public final class ExactlyOnce<Value: Sendable>: Sendable {
    private let calls = Lock<[Int: Int]>([:])
    private let recorder = Recorder<(index: Int, value: Value)>()
    private let expected = Lock(0)

    /// Creates a counter without completion handlers.
    public init() {}

    /// The number of completion handlers made so far.
    public var count: Int { expected.withLock { $0 } }

    /// Makes another completion handler, which must be called once.
    ///
    /// Thread: the handler may be called on any thread.
    public func completion() -> @Sendable (Value) -> Void {
        let index = expected.withLock { count in
            defer { count += 1 }
            return count
        }
        return { [self] value in
            calls.withLock { $0[index, default: 0] += 1 }
            recorder.record((index, value))
        }
    }

    /// Waits until there are as many calls as completion handlers.
    ///
    /// - Parameters:
    ///   - deadline: How long to wait at most, times ``patience``.
    ///   - file: The file that the error names.
    ///   - line: The line that the error names.
    /// - Returns: The values in the order in which the handlers were made. The value of a handler
    ///   that was not called is missing.
    /// - Throws: ``TestSupportError`` when the deadline passes.
    public func values(
        within deadline: Duration = .seconds(30), file: StaticString = #fileID, line: UInt = #line
    ) async throws -> [Value] {
        let made = try await recorder.values(count, within: deadline, file: file, line: line)
        return made.sorted { $0.index < $1.index }.map(\.value)
    }

    /// The values with the indices of their handlers, in the order of the calls.
    public var order: [(index: Int, value: Value)] { recorder.values }

    /// A description of handlers called never or more than once; `nil` if there are none.
    public var fault: String? {
        let calls = calls.withLock { $0 }
        let wrong = (0..<count).filter { calls[$0] != 1 }
        guard let first = wrong.first else { return nil }
        return "\(wrong.count) of \(count) completions, such as \(first), which was called "
            + "\(calls[first] ?? 0) times"
    }
}

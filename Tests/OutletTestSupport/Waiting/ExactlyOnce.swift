internal import OutletSession
internal import OutletTransport

/// Counts how often each of many completions is called: once is right, never and twice are not.
public final class ExactlyOnce<Value: Sendable>: Sendable {
    private let calls = Lock<[Int: Int]>([:])
    private let recorder = Recorder<(index: Int, value: Value)>()
    private let expected = Lock(0)

    /// Nothing expected yet.
    public init() {}

    /// How many completions are expected in all.
    public var count: Int { expected.withLock { $0 } }

    /// One more completion, to be called once.
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

    /// Waits until as many calls have come as there are completions.
    ///
    /// - Returns: The values in the order in which the completions were made; those of completions
    ///   that were not called are missing.
    /// - Throws: ``TestSupportError`` when the deadline passes.
    public func values(within deadline: Duration = .seconds(30)) async throws -> [Value] {
        let made = try await recorder.values(count, within: deadline)
        return made.sorted { $0.index < $1.index }.map(\.value)
    }

    /// The values in the order in which they came.
    public var order: [(index: Int, value: Value)] { recorder.values }

    /// What is wrong so far: completions called never or more than once; `nil` if all is well.
    public var fault: String? {
        let calls = calls.withLock { $0 }
        let wrong = (0..<count).filter { calls[$0] != 1 }
        guard let first = wrong.first else { return nil }
        return "\(wrong.count) of \(count) completions, such as \(first), which was called "
            + "\(calls[first] ?? 0) times"
    }
}

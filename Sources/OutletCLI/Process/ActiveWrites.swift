import OutletTransport

/// The `write` calls of this process in progress, and the total number of bytes written.
///
/// A call that takes long shows that the reader of the output has stopped reading.
enum ActiveWrites {
    /// A `write` call in progress.
    struct Write: Sendable {
        /// The name of the file written to.
        var name: String
        var start: ContinuousClock.Instant

        /// The duration of the call so far.
        var duration: Duration { start.duration(to: .now) }
    }

    private struct State {
        var writes: [Int: Write] = [:]
        var last = 0
        var bytesTaken: Int64 = 0
        /// The time of all calls that have ended, by the name of the file.
        var spent: [String: Duration] = [:]
    }

    private static let state = Lock(State())

    /// Records the start of a call; returns its number for ``end(_:took:)``.
    static func begin(_ name: String) -> Int {
        state.withLock { state in
            state.last += 1
            state.writes[state.last] = Write(name: name, start: .now)
            return state.last
        }
    }

    /// Records the end of a call, and the number of bytes written.
    ///
    /// - Parameters:
    ///   - number: The number that ``begin(_:)`` returned.
    ///   - bytes: The result of the call; negative if it failed.
    static func end(_ number: Int, took bytes: Int) {
        state.withLock { state in
            if let write = state.writes.removeValue(forKey: number) {
                state.spent[write.name, default: .zero] += write.duration
            }
            state.bytesTaken += Int64(max(0, bytes))
        }
    }

    /// The call that has been in progress for the longest time; `nil` if there is none.
    static var longest: Write? {
        state.withLock { $0.writes.values.min { $0.start < $1.start } }
    }

    /// The file whose calls have taken the longest time in all; `nil` if there were none.
    static var slowest: (name: String, duration: Duration)? {
        let spent = state.withLock { state in
            state.writes.values.reduce(into: state.spent) { spent, write in
                spent[write.name, default: .zero] += write.duration
            }
        }
        return spent.max { $0.value < $1.value }.map { ($0.key, $0.value) }
    }

    /// The total number of bytes written so far.
    static var bytesTaken: Int64 { state.withLock { $0.bytesTaken } }
}

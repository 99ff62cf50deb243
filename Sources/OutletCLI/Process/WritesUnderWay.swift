import Synchronization

/// The writes of this process that the system has not taken yet, and how much it has taken.
///
/// A blocked write is recognized here: its reader has stopped reading.
enum WritesUnderWay {
    /// A write that has not come back.
    struct Write: Sendable {
        /// What is written to.
        var name: String
        var start: ContinuousClock.Instant

        /// How long it has taken so far.
        var duration: Duration { start.duration(to: .now) }
    }

    private struct State {
        var writes: [Int: Write] = [:]
        var last = 0
        var bytesTaken: Int64 = 0
    }

    private static let state = Mutex(State())

    /// A write begins; returns what ``end(_:took:)`` is to be given.
    static func begin(_ name: String) -> Int {
        state.withLock { state in
            state.last += 1
            state.writes[state.last] = Write(name: name, start: .now)
            return state.last
        }
    }

    /// A write has come back.
    static func end(_ number: Int, took bytes: Int) {
        state.withLock { state in
            state.writes[number] = nil
            state.bytesTaken += Int64(max(0, bytes))
        }
    }

    /// The write that takes longest.
    static var longest: Write? {
        state.withLock { $0.writes.values.min { $0.start < $1.start } }
    }

    /// How many bytes the system has taken so far.
    static var bytesTaken: Int64 { state.withLock { $0.bytesTaken } }
}

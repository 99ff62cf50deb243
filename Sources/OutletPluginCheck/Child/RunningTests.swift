import CPluginCheck
import CSpawn
import FoundationEssentials
import Glibc
import OutletTransport

/// The tests of this process that run now, with their processes and temporary directories.
enum RunningTests {
    private struct State {
        var children: Set<pid_t> = []
        var directories: Set<URL> = []
        var isEnded = false
    }
    private static let state = Lock(State())
    /// Held while directories are removed, so that the program does not end meanwhile, and none is
    /// removed by two threads: each would fail at what the other one has removed.
    private static let removal = Lock(())

    /// How long the supervisor of a test may take to end it and what it has left behind.
    private static let limit = Duration.seconds(5)
    /// The same, where the program ends meanwhile.
    private static let limitAtEnd = Duration.seconds(1)

    /// Makes the temporary directory of a test.
    ///
    /// - Returns: 0, or an `errno` value.
    static func makeDirectory(_ directory: URL) -> Int32 {
        state.withLock { state in
            guard !state.isEnded else { return ECANCELED }
            guard mkdir(directory.path, 0o700) == 0 else { return errno }
            state.directories.insert(directory)
            return 0
        }
    }

    /// Removes the temporary directory of a test.
    static func removeDirectory(_ directory: URL) {
        removal.withLock { _ in
            try? FileManager.default.removeItem(at: directory)
            state.withLock { _ = $0.directories.remove(directory) }
        }
    }

    /// Starts the process of a test.
    ///
    /// - Parameters:
    ///   - child: Receives the id of the process.
    ///   - spawn: Starts it; returns 0, or an `errno` value.
    static func start(_ child: inout pid_t, _ spawn: (inout pid_t) -> Int32) -> Int32 {
        state.withLock { state in
            guard !state.isEnded else { return ECANCELED }
            let result = spawn(&child)
            if result == 0 { state.children.insert(child) }
            return result
        }
    }

    /// Waits for the end of a test; ends it, and what it has left behind, if it still runs.
    ///
    /// - Returns: The exit status, as that of `wait_for_program`.
    static func end(_ child: pid_t) -> Int32 {
        kill(child, SIGTERM)
        _ = wait(for: [child], until: .now + limit)
        return state.withLock { state in
            // The supervisor itself. Its test then ends, too.
            kill(-child, SIGKILL)
            state.children.remove(child)
            return wait_for_program(child)
        }
    }

    /// Waits until all of some processes have ended, which can still be waited for.
    ///
    /// - Returns: `false` if they have not in time.
    static func wait(
        for children: Set<pid_t>, until deadline: ContinuousClock.Instant
    ) -> Bool {
        for child in children {
            while !cplugincheck_has_ended(child) {
                guard ContinuousClock.now < deadline else { return false }
                usleep(1000)
            }
        }
        return true
    }

    /// Ends all tests, and removes their temporary directories, because the program ends.
    static func endAll() {
        let children = state.withLock { state in
            state.isEnded = true
            return state.children
        }
        for child in children { kill(child, SIGTERM) }
        _ = wait(for: children, until: .now + limitAtEnd)
        removal.withLock { _ in
            for directory in state.withLock({ $0.directories }) {
                try? FileManager.default.removeItem(at: directory)
            }
        }
    }

    /// Blocks without end after ``endAll()``: the results that follow are not those of the plugin.
    static func stayIfEnded() {
        while state.withLock({ $0.isEnded }) { pause() }
    }
}

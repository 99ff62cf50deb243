import CPluginCheck
import CSpawn
import Glibc

/// The processes of tests that run now.
enum RunningTests {
    /// How long the supervisor of a test may take to end it and what it has left behind.
    private static let limit = Duration.seconds(5)

    /// Waits for the end of a test; ends it, and what it has left behind, if it still runs.
    ///
    /// - Returns: The exit status, as that of `wait_for_program`.
    static func end(_ child: pid_t) -> Int32 {
        kill(child, SIGTERM)
        _ = wait(for: [child], until: .now + limit)
        // The supervisor itself. Its test then ends, too.
        kill(-child, SIGKILL)
        return wait_for_program(child)
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
}

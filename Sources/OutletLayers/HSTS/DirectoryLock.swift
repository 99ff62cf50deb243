import FoundationEssentials
import Glibc

/// Keeps other processes from changing a file between reading and replacing it, by `flock` of its
/// directory.
///
/// Thread: any that may block; waits for the lock for a second at most.
struct DirectoryLock {
    private static let attempts = 100

    private let descriptor: Int32

    /// Takes the lock; `nil` if the file system has none, or another process holds it for too long.
    init?(of file: URL) {
        let path = file.deletingLastPathComponent().path
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        for _ in 0..<Self.attempts {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            guard errno == EWOULDBLOCK || errno == EINTR else { break }
            usleep(10_000)
        }
        close(descriptor)
        return nil
    }

    /// Gives the lock back.
    func end() { close(descriptor) }
}

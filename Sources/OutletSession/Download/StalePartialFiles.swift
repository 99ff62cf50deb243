import Dispatch
import FoundationEssentials
import Glibc

/// Clears away the parts of downloads that nobody has gone on with.
///
/// Only time can tell: resume data may lie in a file of the user's, to be used by another process;
/// and a process that was killed has left its parts, too.
enum StalePartialFiles {
    /// How long a part waits for somebody to go on with it, in seconds: a week.
    static let patience: TimeInterval = 7 * 24 * 60 * 60

    /// Clears the temporary directory, once in a process and beside everything else.
    static let clearedAway: Void = DispatchQueue.global(qos: .utility).async {
        remove(from: FileManager.default.temporaryDirectory, lastWrittenBefore: .now - patience)
    }

    /// Removes this user's parts that are older than `limit`, but for those under way.
    static func remove(from directory: URL, lastWrittenBefore limit: Date) {
        let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
        for name in names ?? [] {
            let url = directory.appending(path: name)
            // Checks the time before it takes the lock: a download that resumes a part must find it unlocked.
            guard let written = lastWrite(to: url), written < limit,
                let part = PartFile(takingOver: url.path)
            else { continue }
            part.remove()
        }
    }

    private static func lastWrite(to url: URL) -> Date? {
        var status = stat()
        guard lstat(url.path, &status) == 0 else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(status.st_mtim.tv_sec))
    }
}

import Dispatch
import FoundationEssentials
import Glibc

/// Removes part files of downloads that were not resumed.
///
/// Decides by age: another process may still use stored resume data, and a killed process leaves
/// its part files behind.
enum StalePartialFiles {
    /// How long after its last write a part file is kept, in seconds: a week.
    static let maximumAge: TimeInterval = 7 * 24 * 60 * 60

    /// Cleans the temporary directory, once per process, on a background queue.
    static let removalOnce: Void = DispatchQueue.global(qos: .utility).async {
        remove(from: FileManager.default.temporaryDirectory, lastWrittenBefore: .now - maximumAge)
    }

    /// Removes this user's part files that were last written before `limit` and are not in use.
    static func remove(from directory: URL, lastWrittenBefore limit: Date) {
        let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
        for name in names ?? [] {
            let url = directory.appending(path: name)
            // Checks the time before it takes the lock: a download that resumes a part must find it
            // unlocked.
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

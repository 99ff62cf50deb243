package import Glibc

/// What tells two contents of a regular file apart: its size and the time of its last change.
package struct FileVersion {
    /// The size in bytes.
    private let size: Int64
    /// The time at which the content was last changed (`st_mtim`).
    private let time: timespec

    /// Takes the values of `fstat`.
    package init(_ status: stat) {
        size = Int64(status.st_size)
        time = status.st_mtim
    }

    /// Whether a change of the file now would give it another time.
    ///
    /// The kernel's clock for files moves on in steps of a few milliseconds (`CLOCK_REALTIME_COARSE`), so
    /// that two changes within a step may have the same time. From Linux 6.13 on, btrfs, ext4, tmpfs and XFS
    /// give a change a finer time if the last one was looked at (`FS_MGTIME`). Files on other machines have
    /// the clock of those.
    package var isSettled: Bool {
        var now = timespec()
        guard clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 else { return false }
        let (seconds, overflows) = now.tv_sec.subtractingReportingOverflow(time.tv_sec)
        guard !overflows, abs(seconds) <= 1 else { return true }
        let age = seconds * 1_000_000_000 + now.tv_nsec - time.tv_nsec
        return age > 0 || age < -Self.longestStep
    }

    /// More than a step of the clock, in nanoseconds; a time that is later was set by a program.
    private static let longestStep = 20_000_000

    /// What has happened to the file since an earlier version, such as `was written to`; `nil` if
    /// nothing has.
    ///
    /// A change does not show if the version was taken before it was settled (``isSettled``), or if a
    /// program sets the time back. The time of the last change of the inode (`st_ctim`) is not
    /// compared: it also changes with the file's name, links and permissions.
    package func change(since earlier: FileVersion) -> String? {
        if size != earlier.size {
            let comparison = size > earlier.size ? "longer" : "shorter"
            return "became \(comparison) (from \(earlier.size) to \(size) bytes)"
        }
        let isSame = time.tv_sec == earlier.time.tv_sec && time.tv_nsec == earlier.time.tv_nsec
        return isSame ? nil : "was written to"
    }
}

import Glibc

/// What tells a file at a path from another one, and from its own earlier states.
///
/// Unlike ``FileVersion``, it also differs if only permissions, name or links of the file have
/// changed.
package struct FileState: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    /// The time at which the content was last changed (`st_mtim`), in nanoseconds since 1970.
    private let modified: Int64
    /// The time at which the content or the inode was last changed (`st_ctim`), likewise.
    private let changed: Int64

    /// Looks at the file that a path leads to; `nil` if there is none.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

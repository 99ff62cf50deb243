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

    /// What has happened to the file since an earlier version, such as `was written to`; `nil` if
    /// nothing has.
    ///
    /// Not every change shows: the kernel's clock for files moves on in steps of a few milliseconds.
    package func change(since earlier: FileVersion) -> String? {
        if size != earlier.size {
            let comparison = size > earlier.size ? "longer" : "shorter"
            return "became \(comparison) (from \(earlier.size) to \(size) bytes)"
        }
        let isSame = time.tv_sec == earlier.time.tv_sec && time.tv_nsec == earlier.time.tv_nsec
        return isSame ? nil : "was written to"
    }
}

import Glibc

/// The length of a regular file that is going to be read.
package enum FileLength {
    /// Returns the number of bytes of an open regular file; `nil` if only reading it tells.
    ///
    /// Files in `/proc` report 0 and those in `/sys` the size of a page, and their bytes are made while
    /// they are read. So are the errors of a file that cannot be read.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, which is not moved.
    ///   - size: The size that `fstat` reports.
    package static func of(_ descriptor: Int32, size: Int) -> Int64? {
        guard mayBeWrong(size) else { return Int64(size) }
        let wanted = max(size, 1)
        return withUnsafeTemporaryAllocation(byteCount: wanted, alignment: 1) { buffer in
            pread(descriptor, buffer.baseAddress, wanted, 0) == size ? Int64(size) : nil
        }
    }

    private static let pageSize = Int(getpagesize())

    private static func mayBeWrong(_ size: Int) -> Bool { size == 0 || size == pageSize }

    /// Returns the number of bytes of a readable regular file, as ``of(_:size:)``.
    package static func of(_ path: String, size: Int) -> Int64? {
        guard mayBeWrong(size) else { return Int64(size) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return of(descriptor, size: size)
    }
}

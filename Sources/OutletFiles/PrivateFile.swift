package import FoundationEssentials
import Glibc

/// Writes files that only their owner can access (mode 0600), and replaces them atomically.
package enum PrivateFile {
    /// An operation that failed, and its `errno`.
    package struct Failure: Error {
        package let path: String
        package let what: String
        package let number: Int32

        package init(path: String, what: String, number: Int32) {
            self.path = path
            self.what = what
            self.number = number
        }
    }

    /// The path of a file URL.
    ///
    /// - Throws: ``Failure`` for other URLs, whose path would name another file, of this machine.
    package static func path(of url: URL) throws(Failure) -> String {
        guard url.isFileURL else {
            throw Failure(path: url.path, what: "is not given as a file URL", number: EINVAL)
        }
        return url.path
    }

    /// Writes a file atomically: readers see the old content or the whole new one.
    ///
    /// Writes to a new file in the same directory, with a random name that ends with `.tmp`, and
    /// renames it. A process that is killed meanwhile leaves that file behind.
    ///
    /// - Parameters:
    ///   - data: The new content.
    ///   - path: The path of the file. An existing file or symbolic link is replaced.
    /// - Throws: ``Failure`` if the path names a directory, a device or a pipe, or the file cannot
    ///   be created, written or renamed.
    ///
    /// Thread: any that may block on a disk.
    package static func write(_ data: Data, to path: String) throws(Failure) {
        try checkKind(of: path)
        let temporary = temporaryName(beside: path)
        let descriptor = try create(temporary)
        let written = data.withUnsafeBytes { write($0, to: descriptor) }
        // Some file systems report a full disk only here.
        let closed = close(descriptor) == 0 ? 0 : errno
        let failure = written == 0 ? closed : written
        guard failure == 0 else {
            unlink(temporary)
            throw Failure(path: temporary, what: "cannot be written", number: failure)
        }
        guard rename(temporary, path) == 0 else {
            let number = errno
            unlink(temporary)
            throw Failure(path: path, what: "cannot be put into its place", number: number)
        }
    }

    /// A file that is written in pieces under a temporary name, and renamed once it is complete.
    package struct Draft: Sendable {
        /// The descriptor for writing; the caller must close it.
        package let descriptor: Int32
        private let temporary: String
        private let path: String

        /// Creates an empty file under a temporary name.
        ///
        /// - Parameter path: The final path. An existing file or symbolic link is replaced by
        ///   ``publish()``; the target of a link is kept.
        /// - Throws: ``Failure`` if the path names a directory, a device or a pipe, or the file
        ///   cannot be created.
        package init(of path: String) throws(Failure) {
            try checkKind(of: path)
            self.path = path
            temporary = temporaryName(beside: path)
            descriptor = try create(temporary)
        }

        /// Renames the file to its final path; the descriptor stays usable.
        ///
        /// - Throws: ``Failure`` if it cannot be renamed; call ``discard()`` to remove the file.
        package func publish() throws(Failure) {
            guard rename(temporary, path) == 0 else {
                throw Failure(path: path, what: "cannot be put into its place", number: errno)
            }
        }

        /// Removes the file; only for a draft that was not published.
        package func discard() { unlink(temporary) }
    }

    /// Opens a file for appending, or creates it; sets its mode to 0600.
    ///
    /// - Parameter path: The path of a regular file; a symbolic link is refused.
    /// - Returns: A descriptor for writing, which the caller must close.
    /// - Throws: ``Failure`` if the file cannot be opened, is not a regular one, or its mode cannot
    ///   be changed.
    package static func extend(_ path: String) throws(Failure) -> Int32 {
        // With O_NONBLOCK, opening a pipe without a reader fails instead of blocking.
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else {
            throw Failure(path: path, what: "cannot be opened", number: errno)
        }
        var facts = stat()
        let isPlain = fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
        guard isPlain, fchmod(descriptor, 0o600) == 0 else {
            let number = isPlain ? errno : EINVAL
            close(descriptor)
            let what = isPlain ? "cannot be kept from others" : "is no plain file"
            throw Failure(path: path, what: what, number: number)
        }
        return descriptor
    }

    /// Throws if the path names anything but a regular file or a symbolic link.
    private static func checkKind(of path: String) throws(Failure) {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { return }
        let kind = facts.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFLNK else {
            throw Failure(path: path, what: "is no plain file", number: EEXIST)
        }
    }

    private static func temporaryName(beside path: String) -> String {
        "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36)).tmp"
    }

    private static func create(_ temporary: String) throws(Failure) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let descriptor = open(temporary, flags, 0o600)
        guard descriptor >= 0 else {
            throw Failure(path: temporary, what: "cannot be made", number: errno)
        }
        return descriptor
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(
                descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return errno }
            done += count
        }
        return 0
    }
}

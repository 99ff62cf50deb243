package import FoundationEssentials
import Glibc

/// A file for its owner's eyes only (mode 0600), seen whole or not at all.
package enum PrivateFile {
    /// What could not be done, and the system's number for it (`errno`).
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

    /// Puts bytes in a file's place.
    ///
    /// - Parameters:
    ///   - data: What the file shall hold.
    ///   - path: Where; what is there is replaced. The bytes are written beside it first, to a file
    ///     with `.tmp` at the end whose name nobody else has, and a process that was killed has left.
    ///
    /// Thread: any that may wait for a disk.
    package static func write(_ data: Data, to path: String) throws(Failure) {
        try checkKind(of: path)
        let temporary = temporaryName(beside: path)
        let descriptor = try create(temporary)
        let written = data.withUnsafeBytes { write($0, to: descriptor) }
        // Some file systems tell of a full disk only now.
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

    /// A file that is written bit by bit beside its place, and put there when it is whole.
    package struct Draft: Sendable {
        /// For writing; the caller's to close.
        package let descriptor: Int32
        private let temporary: String
        private let path: String

        /// Makes an empty file.
        ///
        /// - Parameter path: Its place; anything but a plain file or a link there is refused. What is
        ///   there stays until ``publish()``, and what a link there leads to is kept.
        package init(of path: String) throws(Failure) {
            try checkKind(of: path)
            self.path = path
            temporary = temporaryName(beside: path)
            descriptor = try create(temporary)
        }

        /// Puts the file into its place; it may be written further.
        package func publish() throws(Failure) {
            guard rename(temporary, path) == 0 else {
                throw Failure(path: path, what: "cannot be put into its place", number: errno)
            }
        }

        /// Removes the file, which was not put into its place.
        package func discard() { unlink(temporary) }
    }

    /// Opens a file to add to its end, made if it is not there; from then on nobody else may read it.
    ///
    /// - Parameter path: Where; anything but a plain file is refused, a symbolic link as well.
    /// - Returns: A descriptor for writing, which is the caller's to close.
    package static func extend(_ path: String) throws(Failure) -> Int32 {
        // A pipe that nobody reads would be waited for otherwise.
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

    /// Refuses to put a file in the place of a device, a pipe or a directory.
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

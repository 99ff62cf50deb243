import FoundationEssentials
import Glibc

/// A file for its owner's eyes only (mode 0600), seen whole or not at all.
enum PrivateFile {
    /// What could not be done, and the system's number for it (`errno`).
    struct Failure: Error {
        let path: String
        let what: String
        let number: Int32
    }

    /// Puts bytes in a file's place.
    ///
    /// - Parameters:
    ///   - data: What the file shall hold.
    ///   - path: Where; what is there is replaced. The bytes are written beside it first, to a file
    ///     with `.tmp` at the end whose name nobody else has, and a process that was killed has left.
    ///
    /// Thread: any that may wait for a disk.
    static func write(_ data: Data, to path: String) throws(Failure) {
        let temporary = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36)).tmp"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let descriptor = open(temporary, flags, 0o600)
        guard descriptor >= 0 else {
            throw Failure(path: temporary, what: "cannot be made", number: errno)
        }
        let failure = data.withUnsafeBytes { write($0, to: descriptor) }
        close(descriptor)
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

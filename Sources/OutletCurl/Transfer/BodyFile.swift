import Glibc
import OutletFiles
import OutletTransport

/// The file that a response's body is written to.
struct BodyFile: ~Copyable {
    private let path: String
    private let descriptor: Int32
    private var position: Int64

    /// Opens or creates the file and truncates it to `offset` bytes, where writing starts.
    ///
    /// - Throws: `TransferError` with code `cannotCreateFile` or `cannotWriteToFile`.
    init(path: String, offset: Int64) throws(TransferError) {
        self.path = path
        position = offset
        // Without waiting for the reader of a named pipe, and for a while also of a terminal.
        descriptor = Glibc.open(
            path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o666)
        guard descriptor >= 0 else {
            throw Self.error(.cannotCreateFile, path, "cannot be made", errno)
        }
        _ = fcntl(descriptor, F_SETFL, 0)
        // Truncate only if necessary: ext4 writes a truncated file to disk when it is closed, even
        // if its length did not change.
        guard !Self.has(offset, descriptor) else { return }
        guard ftruncate(descriptor, Int(offset)) == 0 || errno == EINVAL else {
            // EINVAL is ignored: a pipe or a device has no length.
            throw Self.error(.cannotWriteToFile, path, "cannot be cut to \(offset) bytes", errno)
        }
    }

    /// Whether it is a regular file of that length.
    private static func has(_ length: Int64, _ descriptor: Int32) -> Bool {
        var facts = stat()
        return fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
            && Int64(facts.st_size) == length
    }

    deinit {
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
    }

    /// Appends bytes to those written before.
    ///
    /// - Throws: `TransferError` with code `cannotWriteToFile`.
    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TransferError) {
        var rest = bytes
        while rest.count > 0 {
            var written = pwrite(descriptor, rest.baseAddress, rest.count, Int(position))
            if written < 0, errno == ESPIPE {
                written = Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if written < 0 {
                if errno == EINTR { continue }
                throw Self.error(
                    .cannotWriteToFile, path, "cannot be written at byte \(position)", errno)
            }
            position += Int64(written)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
        }
    }

    private static func error(
        _ code: TransferError.Code, _ path: String, _ what: String, _ number: Int32
    ) -> TransferError {
        let advice =
            switch number {
            case ENOSPC, EDQUOT: "free some space or choose another directory"
            case ENOENT: "make its directory first"
            case EACCES, EPERM, EROFS: "check the permissions of the file and its directory"
            case EMFILE, ENFILE: "raise the limit of open files (ulimit -n)"
            default: ""
            }
        return TransferError(
            code: code, stage: .receiving,
            reason: "\(path): \(what): \(systemText(number))", advice: advice)
    }
}

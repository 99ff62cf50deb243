import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTransport

/// The temporary file that a download is written to.
///
/// Locked for the lifetime of this object, so that two downloads never write to one file. Only this
/// user may read it, because the temporary directory is shared by all users.
final class PartFile: Sendable {
    let url: URL
    let descriptor: Int32

    /// Creates an empty file with a unique name.
    ///
    /// - Throws: `TransferError` with `tooManyOpenFiles` or `cannotCreateFile`.
    init(in directory: URL = FileManager.default.temporaryDirectory) throws(TransferError) {
        url = directory.appending(path: Self.prefix + UUID().uuidString + Self.suffix)
        descriptor = open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let isTooMany = errno == EMFILE || errno == ENFILE
            throw TransferError(
                code: isTooMany ? .tooManyOpenFiles : .cannotCreateFile,
                reason: "\(url.path): cannot be made: \(systemText(errno))",
                advice: isTooMany
                    ? "raise the limit of open files (ulimit -n)"
                    : "set TMPDIR to a directory that can be written to")
        }
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Opens and locks the file of an earlier download.
    ///
    /// - Returns: `nil` if the name is not that of a part file, the file is gone, is not a regular
    ///   file of this user with this name only, or is locked by another download.
    init?(takingOver path: String) {
        url = URL(filePath: path)
        // The path of the URL, because C would end `path` at a NUL, before the checked name.
        descriptor =
            Self.isName(url.lastPathComponent)
            ? open(url.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1
        guard descriptor >= 0 else { return nil }
        // Locks before it checks: until then another process may remove the file.
        var status = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_nlink == 1
        else { return nil }
    }

    deinit {
        guard descriptor >= 0 else { return }
        // Closing does not unlock while a forked child holds the descriptor, until its `exec`.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static let prefix = "Outlet_"
    private static let suffix = ".part"

    /// Whether this is a name of a part file: prefix, UUID and suffix.
    static func isName(_ name: String) -> Bool {
        guard name.startsWithBytes(of: prefix), name.endsWithBytes(of: suffix) else { return false }
        let bytes = name.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count)
        return bytes.count == 36 && UUID(uuidString: String(Substring(bytes))) != nil
    }

    var path: String { url.path }

    /// The size in bytes; 0 when it cannot be determined.
    var size: Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The size of any file in bytes; `nil` when it cannot be determined.
    static func size(at url: URL) -> Int64? {
        var status = stat()
        return stat(url.path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// Gives the file that this one was moved to the permissions that a new file of this process
    /// gets by default.
    ///
    /// - Parameter destination: The moved file, or its copy on another file system.
    static func publish(_ destination: URL) {
        let moved = open(destination.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard moved >= 0 else { return }
        var status = stat()
        if fstat(moved, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            _ = fchmod(moved, 0o666 & ~umask)
        }
        close(moved)
    }

    func remove() {
        _ = unlink(url.path)
    }

    /// Read from `/proc`, because `umask(2)` can only query the mask by changing it.
    private static var umask: mode_t {
        let status = try? Data(contentOf: URL(filePath: "/proc/self/status"))
        let lines = String(decoding: status ?? Data(), as: UTF8.self).lines
        let line = lines.first { $0.startsWithBytes(of: "Umask:") }
        let digits = line?.droppingBytes("Umask:".utf8.count).trimmingBlanks
        return digits.flatMap { mode_t($0, radix: 8) } ?? 0o022
    }
}

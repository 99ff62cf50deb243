import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTransport

/// The file that a download is written to before it goes where it is wanted.
///
/// Locked while this lives, so that two downloads never write to one file; readable by nobody else,
/// because it lies in a directory that all users share.
final class PartFile: Sendable {
    let url: URL
    let descriptor: Int32

    /// Makes an empty file with a name of its own.
    init(in directory: URL = FileManager.default.temporaryDirectory) throws(TransferError) {
        url = directory.appending(path: Self.prefix + UUID().uuidString + Self.suffix)
        descriptor = open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw TransferError(
                code: errno == EMFILE || errno == ENFILE ? .tooManyOpenFiles : .cannotCreateFile,
                reason: "\(url.path): cannot be made: \(String(cString: strerror(errno)))",
                advice: "set TMPDIR to a directory that can be written to")
        }
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Takes over a file that an earlier download has left.
    ///
    /// - Returns: `nil` when its name is none that is given here, it is gone, is no plain file of this
    ///   user's, or somebody writes to it.
    init?(takingOver path: String) {
        url = URL(filePath: path)
        descriptor =
            Self.isName(url.lastPathComponent) ? open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1
        guard descriptor >= 0 else { return nil }
        // The lock first: until then another may take the file away.
        var status = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_nlink > 0
        else { return nil }
    }

    deinit {
        guard descriptor >= 0 else { return }
        // Closing is not enough: a process that is being started has the descriptor, too, until it
        // runs its program.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static let prefix = "Outlet_"
    private static let suffix = ".part"

    /// Whether a file of this name was made here.
    static func isName(_ name: String) -> Bool {
        guard name.startsWithBytes(of: prefix), name.endsWithBytes(of: suffix) else { return false }
        let bytes = name.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count)
        return bytes.count == 36 && UUID(uuidString: String(Substring(bytes))) != nil
    }

    var path: String { url.path }

    /// The length in bytes; 0 when it cannot be told.
    var size: Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The length of any file in bytes; `nil` when it cannot be told.
    static func size(at url: URL) -> Int64? {
        var status = stat()
        return stat(url.path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// Gives the file the permissions that a new file of this process has.
    func publish() {
        _ = fchmod(descriptor, 0o666 & ~Self.umask)
    }

    func remove() {
        _ = unlink(url.path)
    }

    /// Asking the system for it would change it for a moment.
    private static var umask: mode_t {
        let status = try? Data(contentOf: URL(filePath: "/proc/self/status"))
        let lines = String(decoding: status ?? Data(), as: UTF8.self).lines
        let line = lines.first { $0.startsWithBytes(of: "Umask:") }
        let digits = line?.droppingBytes("Umask:".utf8.count).trimmingBlanks
        return digits.flatMap { mode_t($0, radix: 8) } ?? 0o022
    }
}

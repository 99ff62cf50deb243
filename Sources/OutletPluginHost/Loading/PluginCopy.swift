import CPluginLoad
import Glibc
import OutletFiles
import OutletHTTP

/// An immutable copy of a library's bytes, so that the bytes checked are the bytes mapped.
///
/// It is a memory file (memfd), so nothing remains when the process ends, and neither full disks
/// nor `noexec` matter. The descriptor stays open as long as the copy exists. It must exist while
/// anything is mapped from it, for two reasons: the dynamic linker identifies libraries by their
/// paths and must not find other content under this one, and a debugger reads the symbols from
/// there.
final class PluginCopy: Sendable {
    private let descriptor: Int32
    private let size: UInt64

    /// The largest size of a plugin and the libraries copied with it, in bytes.
    static let largestSize: UInt64 = 512 << 20

    /// Copies a file.
    ///
    /// - Parameters:
    ///   - file: An open file descriptor.
    ///   - name: The name shown in the list of mapped files.
    ///   - limit: The largest size in bytes.
    init(
        of file: Int32, name: some StringProtocol, limit: UInt64 = largestSize
    ) throws(ELFLibrary.Problem) {
        descriptor = cpluginload_copy(file, limit, String(name))
        guard descriptor >= 0 else {
            let code = errno
            throw code == EFBIG
                ? .invalid(
                    reason: "more than the \(PluginCopy.largestSize) bytes that a plugin may have")
                : .notCopied(reason: "no copy can be made in memory: \(systemText(code))")
        }
        var status = stat()
        size = fstat(descriptor, &status) == 0 ? UInt64(clamping: status.st_size) : 0
    }

    deinit { close(descriptor) }

    var bytes: FileBytes { FileBytes(descriptor: descriptor, size: size) }

    /// A path to the copy, valid for processes of the same user as long as this process runs.
    var path: String {
        let path = "/proc/\(getpid())/fd/\(descriptor)"
        var own = stat()
        var found = stat()
        // With the /proc of another PID namespace, the process id means another process.
        let isOwn =
            fstat(descriptor, &own) == 0 && stat(path, &found) == 0 && own.st_dev == found.st_dev
            && own.st_ino == found.st_ino
        return isOwn ? path : "/proc/self/fd/\(descriptor)"
    }

    /// Whether two copies hold the same bytes.
    func hasSameBytes(as other: PluginCopy) -> Bool {
        guard size == other.size else { return false }
        for offset in stride(from: 0, to: size, by: 1 << 20) {
            let count = min(1 << 20, size - offset)
            guard let own = try? bytes.read("the copy", at: offset, count: count),
                own == (try? other.bytes.read("the copy", at: offset, count: count))
            else { return false }
        }
        return true
    }
}

import CPluginLoad
import Glibc
import OutletHTTP

/// A copy of a library's bytes that nobody can change any more: what is checked is what is mapped.
///
/// It lies in memory, so that nothing is left behind however the process ends, and neither full disks nor
/// `noexec` matter. The descriptor stays open as long as the copy lives. While anything is mapped from it
/// that is needed twice: the dynamic linker knows libraries by their paths, and may not meet this one again
/// with another content; and a debugger reads the symbols from there.
final class PluginCopy: Sendable {
    private let descriptor: Int32
    private let size: UInt64

    /// How many bytes a plugin may have, with the libraries that are copied along.
    static let largestSize: UInt64 = 512 << 20

    /// Copies a file.
    ///
    /// - Parameters:
    ///   - name: What the list of mapped files is to show.
    ///   - limit: How many bytes it may have.
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

    /// Where this process finds the copy, and others of the same user as long as it runs.
    var path: String {
        let path = "/proc/\(getpid())/fd/\(descriptor)"
        var own = stat()
        var found = stat()
        // In a namespace of processes with the /proc of another, the number is somebody else's.
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

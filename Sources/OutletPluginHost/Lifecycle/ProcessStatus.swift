import Glibc
import OutletHTTP

/// The fields of `/proc/thread-self/status` of the calling thread (proc(5)).
package struct ProcessStatus {
    private let lines: [Substring]

    /// Reads them; there are none if the file cannot be read.
    package init() { lines = Self.linesOfFile("/proc/thread-self/status") }

    /// The value of a field, without blanks around it; `nil` if there is none.
    ///
    /// - Parameter name: Its name with the colon, such as `Umask:`.
    package subscript(name: String) -> String? {
        let line = lines.first { $0.startsWithBytes(of: name) }
        return line.map { String($0.droppingBytes(name.utf8.count).trimmingBlanks) }
    }

    /// Whether a debugger is attached: while it has stopped the threads, nothing can be done in time.
    var isDebugged: Bool { self["TracerPid:"].map { $0 != "0" } ?? false }  // text: ours

    private static func linesOfFile(_ path: String) -> [Substring] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        var got = 0
        repeat {
            let part = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                repeat {
                    got = read(file, buffer.baseAddress, buffer.count)
                } while got < 0 && errno == EINTR
                count = max(got, 0)
            }
            bytes += part
        } while got > 0
        return String(decoding: bytes, as: UTF8.self).lines
    }
}

import FoundationEssentials
import OutletHTTP
import OutletTestSupport

extension TemporaryDirectory {
    /// Returns the number of files in this directory that the process has open.
    func openFiles() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\(name)")
            return target?.hasPrefix(path) == true
        }.count
    }
}

/// A stream whose reads throw.
final class BrokenStream: BodyStream {
    struct Broken: Error {}

    let length: Int64? = 1

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int { throw Broken() }
    func rewind() throws {}
}

import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import Synchronization

extension TemporaryDirectory {
    /// How many files of this directory the process has open.
    func openFiles() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\(name)")
            return target?.hasPrefix(path) == true
        }.count
    }
}

/// Bytes in memory as a stream; fails at once when there are none to give.
final class MemoryStream: BodyStream {
    struct Broken: Error {}

    private let data: Data?
    private let isSized: Bool
    private let canRewind: Bool
    private let offset = Mutex(0)

    init(_ data: Data?, isSized: Bool = true, canRewind: Bool = true) {
        self.data = data
        self.isSized = isSized
        self.canRewind = canRewind
    }

    var length: Int64? { isSized ? data.map { Int64($0.count) } : nil }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard let data else { throw Broken() }
        return offset.withLock { offset in
            let count = min(buffer.count, data.count - offset)
            buffer.copyBytes(from: data[offset..<offset + count])
            offset += count
            return count
        }
    }

    func rewind() throws {
        guard canRewind else { throw Broken() }
        offset.withLock { $0 = 0 }
    }
}

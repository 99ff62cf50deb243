import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTransport

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

/// A stream whose bytes the test provides while it is read.
final class SuppliedStream: BodyStream {
    private struct State: Sendable {
        var bytes: [UInt8] = []
        var position = 0
        var isComplete = false
        var ready: (@Sendable () -> Void)?
    }

    private let state = Lock(State())
    let name: String
    let length: Int64? = nil

    init(name: String) { self.name = name }

    /// Adds bytes at the end.
    func supply(_ text: String, isLast: Bool = false) {
        let ready = state.withLock { state in
            state.bytes += text.utf8
            state.isComplete = isLast
            return state.ready.take()
        }
        ready?()
    }

    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.position == state.bytes.count, !state.isComplete else { return false }
            state.ready = ready
            return true
        }
    }

    /// Throws `BrokenStream.Broken` if there are no bytes yet.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try state.withLock { state in
            let piece = state.bytes[state.position...].prefix(buffer.count)
            guard !piece.isEmpty || state.isComplete else { throw BrokenStream.Broken() }
            buffer.copyBytes(from: piece)
            state.position += piece.count
            return piece.count
        }
    }

    func rewind() { state.withLock { $0.position = 0 } }
}

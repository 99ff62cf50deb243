internal import CSpawn
internal import Glibc

/// Reads one stream of a program to its end or a limit, on a thread of its own.
final class OutputCollector: Sendable {
    /// Pieces as they came; the empty one is the end.
    private let pieces = Recorder<[UInt8]>()
    private let end = Once<Void>()
    /// Kept open, so that a stream that is no longer read is not taken for one whose reader left.
    private let reader: FileDescriptor?

    /// A stream that has ended.
    init() {
        reader = nil
        end.set(())
    }

    /// - Parameter limit: Once so many bytes have come, nothing more is read.
    init(reader: FileDescriptor, limit: Int = .max) throws {
        self.reader = reader
        try onOwnThread { [pieces, end] in
            var rest = limit
            while rest > 0 {
                let piece = reader.read(upTo: min(rest, 64 * 1024))
                rest -= piece.count
                // A terminal whose last user is gone fails to be read, which is its end.
                pieces.record(piece)
                if piece.isEmpty { break }
            }
            end.set(())
        }
    }

    var text: String { String(decoding: pieces.values.joined(), as: UTF8.self) }

    /// Everything, once the stream has ended.
    func all() async throws -> [UInt8] {
        try await end.value()
        return Array(pieces.values.joined())
    }

    /// Waits until something has come, or the end.
    func begun(within deadline: Duration) async throws {
        try await pieces.values(1, within: deadline)
    }

    /// What has come when it contains `text`.
    func text(containing text: String, within deadline: Duration) async throws -> String {
        let limit = ContinuousClock.now + deadline * patience
        var count = 0
        while true {
            let values = try await pieces.values(count + 1, within: (limit - .now) / patience)
            count = values.count
            let seen = String(decoding: values.joined(), as: UTF8.self)
            if seen.contains(text) { return seen }
            guard values.last?.isEmpty == false else {
                throw TestSupportError("program: ended without \"\(text)\": \(seen)")
            }
        }
    }
}

extension FileDescriptor {
    /// A pseudo terminal: the side that sees what is printed, and the side to print to.
    static func terminal(columns: UInt16) throws -> (
        reader: FileDescriptor, writer: FileDescriptor
    ) {
        var ends: [Int32] = [-1, -1]
        let error = private_terminal(&ends, columns, 50)
        guard error == 0 else { throw TestSupportError("terminal: not made", errno: error) }
        return (FileDescriptor(ends[0]), FileDescriptor(ends[1]))
    }
}

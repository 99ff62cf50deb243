internal import CSpawn
internal import Glibc

/// Reads one stream of a program to its end, on a thread of its own.
final class OutputCollector: Sendable {
    /// Pieces as they came; the empty one is the end.
    private let pieces = Recorder<[UInt8]>()
    private let end = Once<Void>()

    /// A stream that has ended.
    init() {
        end.set(())
    }

    init(reader: FileDescriptor) throws {
        try onOwnThread { [pieces, end] in
            while true {
                let piece = reader.read()
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

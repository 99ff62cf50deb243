internal import CSpawn
internal import Glibc

/// Reads an output stream of a program up to its end or a limit, on a separate thread.
final class OutputCollector: Sendable {
    /// The pieces in the order of their arrival; an empty one marks the end.
    private let pieces = Recorder<[UInt8]>()
    private let end = Once<Void>()
    /// Kept open after the limit, so that the program blocks instead of getting `EPIPE`.
    private let reader: FileDescriptor?

    /// Creates a collector for a stream that has ended.
    init() {
        reader = nil
        end.set(())
    }

    /// Starts to read a stream.
    ///
    /// - Parameters:
    ///   - reader: The descriptor to read from.
    ///   - limit: The number of bytes after which reading stops.
    /// - Throws: ``TestSupportError`` if no thread can be started.
    init(reader: FileDescriptor, limit: Int = .max) throws {
        self.reader = reader
        try onOwnThread { [pieces, end] in
            var rest = limit
            while rest > 0 {
                let piece = reader.read(upTo: min(rest, 64 * 1024))
                rest -= piece.count
                // Reading from a terminal fails once the program has closed its side; `read` then
                // returns no bytes, which is the end here.
                pieces.record(piece)
                if piece.isEmpty { break }
            }
            end.set(())
        }
    }

    var text: String { String(decoding: pieces.values.joined(), as: UTF8.self) }

    /// Waits for the end of the stream or the limit, and returns all bytes.
    ///
    /// - Throws: ``TestSupportError`` after 60 s (times ``patience``).
    func all() async throws -> [UInt8] {
        try await end.value()
        return Array(pieces.values.joined())
    }

    /// Waits until there is output, or the stream ends.
    ///
    /// - Throws: ``TestSupportError`` when the deadline passes.
    func begun(within deadline: Duration) async throws {
        try await pieces.values(1, within: deadline)
    }

    /// Waits until the output contains `text`, and returns the output so far.
    ///
    /// - Throws: ``TestSupportError`` if the stream ends without the text, or the deadline passes.
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
    /// Makes a pseudo terminal of 50 rows.
    ///
    /// - Returns: The side that reads what is printed, and the side to print to.
    /// - Throws: ``TestSupportError`` if the system refuses one.
    static func terminal(columns: UInt16) throws -> (
        reader: FileDescriptor, writer: FileDescriptor
    ) {
        var ends: [Int32] = [-1, -1]
        let error = private_terminal(&ends, columns, 50)
        guard error == 0 else { throw TestSupportError("terminal: not made", errno: error) }
        return (FileDescriptor(ends[0]), FileDescriptor(ends[1]))
    }
}

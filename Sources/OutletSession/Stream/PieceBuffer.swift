import FoundationEssentials

/// Pieces of a body that wait to be read, each with somebody who waits for that, as a value.
struct PieceBuffer: Sendable {
    /// To be called, under no lock, when a piece counts as read.
    typealias Done = @Sendable () -> Void

    private struct Piece: Sendable {
        var rest: Data
        /// `nil` once it was handed out.
        var done: Done?
    }

    private var pieces: [Piece] = []
    /// Unread bytes that count as read.
    private var ahead = 0
    private let allowance: Int

    /// - Parameter allowance: How many unread bytes count as read.
    init(allowance: Int) {
        self.allowance = allowance
    }

    var isEmpty: Bool { pieces.isEmpty }

    /// Takes a piece.
    mutating func append(_ data: Data, done: @escaping Done) -> [Done] {
        pieces.append(Piece(rest: data, done: done))
        return countAhead()
    }

    /// Copies the next bytes, as many as are there and fit.
    mutating func copy(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, done: [Done]) {
        var count = 0
        var read: [Done] = []
        var whole = 0
        for index in pieces.indices where count < buffer.count {
            let part = pieces[index].rest.prefix(buffer.count - count)
            part.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: $0)
            }
            count += part.count
            if pieces[index].done == nil { ahead -= part.count }
            pieces[index].rest = pieces[index].rest.dropFirst(part.count)
            guard pieces[index].rest.isEmpty else { break }
            whole += 1
            if let done = pieces[index].done { read.append(done) }
        }
        pieces.removeFirst(whole)
        return (count, read + countAhead())
    }

    /// Forgets all that is unread.
    mutating func drop() -> [Done] {
        defer {
            pieces = []
            ahead = 0
        }
        return pieces.compactMap(\.done)
    }

    private mutating func countAhead() -> [Done] {
        var counted: [Done] = []
        for index in pieces.indices {
            guard let done = pieces[index].done else { continue }
            guard ahead + pieces[index].rest.count <= allowance else { break }
            ahead += pieces[index].rest.count
            pieces[index].done = nil
            counted.append(done)
        }
        return counted
    }
}

import FoundationEssentials

/// Pieces of a body that wait to be read, each with a closure to call when it was read.
struct PieceBuffer: Sendable {
    /// Called outside of locks when a piece counts as read.
    typealias Done = @Sendable () -> Void

    private struct Piece: Sendable {
        var rest: Data
        /// `nil` once it was returned.
        var done: Done?
    }

    private var pieces: [Piece] = []
    /// The number of unread bytes that count as read.
    private var ahead = 0
    private let allowance: Int

    /// - Parameter allowance: The maximum number of unread bytes that count as read.
    init(allowance: Int) {
        self.allowance = allowance
    }

    var isEmpty: Bool { pieces.isEmpty }

    /// Appends a piece; returns the closures to call.
    mutating func append(_ data: Data, done: @escaping Done) -> [Done] {
        pieces.append(Piece(rest: data, done: done))
        return countAhead()
    }

    /// Copies the next bytes, as many as are available and fit; also returns the closures to call.
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

    /// Removes all unread pieces; returns the closures to call.
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

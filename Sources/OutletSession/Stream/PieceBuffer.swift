import FoundationEssentials
import OutletTransport

/// Pieces of a body that wait to be read, each with a closure to call when it was read.
struct PieceBuffer: Sendable {
    /// Called outside of locks when a piece counts as read.
    typealias Done = @Sendable () -> Void

    private struct Piece: Sendable {
        var rest: Data
        /// `nil` once it was returned.
        var done: Done?
    }

    /// The piece that is being read.
    private var current: Piece?
    /// The next pieces, which count as read.
    private var counted = Fifo<Data>()
    /// The pieces after those, which do not.
    private var uncounted = Fifo<(data: Data, done: Done)>()
    /// The number of unread bytes that count as read.
    private var ahead = 0
    private let allowance: Int

    /// - Parameter allowance: The maximum number of unread bytes that count as read.
    init(allowance: Int) {
        self.allowance = allowance
    }

    var isEmpty: Bool { current == nil && counted.isEmpty && uncounted.isEmpty }

    /// Appends a piece; returns the closures to call.
    mutating func append(_ data: Data, done: @escaping Done) -> [Done] {
        uncounted.append((data, done))
        return countAhead()
    }

    /// Copies the next bytes, as many as are available and fit; also returns the closures to call.
    mutating func copy(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, done: [Done]) {
        var count = 0
        var read: [Done] = []
        while count < buffer.count, var piece = current.take() ?? next() {
            let part = piece.rest.prefix(buffer.count - count)
            part.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: $0)
            }
            count += part.count
            if piece.done == nil { ahead -= part.count }
            piece.rest = piece.rest.dropFirst(part.count)
            if !piece.rest.isEmpty {
                current = piece
            } else if let done = piece.done {
                read.append(done)
            }
        }
        return (count, read + countAhead())
    }

    /// Removes the next piece that has not been begun; `nil` if there is none.
    private mutating func next() -> Piece? {
        if let data = counted.popFirst() { return Piece(rest: data) }
        return uncounted.popFirst().map { Piece(rest: $0.data, done: $0.done) }
    }

    /// Removes all unread pieces; returns the closures to call.
    mutating func drop() -> [Done] {
        defer { self = PieceBuffer(allowance: allowance) }
        return [current?.done].compactMap(\.self) + uncounted.all.map(\.done)
    }

    /// Counts the next pieces as read, as far as they fit; returns their closures.
    private mutating func countAhead() -> [Done] {
        var read: [Done] = []
        // A piece that does not count is begun only when none is left that does.
        if let piece = current, let done = piece.done {
            guard ahead + piece.rest.count <= allowance else { return [] }
            ahead += piece.rest.count
            current?.done = nil
            read.append(done)
        }
        while case let room = allowance - ahead,
            let next = uncounted.popFirst(where: { $0.data.count <= room })
        {
            ahead += next.data.count
            counted.append(next.data)
            read.append(next.done)
        }
        return read
    }
}

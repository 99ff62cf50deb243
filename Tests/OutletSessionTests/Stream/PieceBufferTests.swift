import FoundationEssentials
import OutletTestSupport
import Testing

@testable import OutletSession

@Suite struct PieceBufferTests {
    /// The names of the pieces that count as read.
    private let done = Recorder<Int>()

    private func append(_ size: Int, as name: Int, to buffer: inout PieceBuffer) {
        let data = Data(repeating: UInt8(truncatingIfNeeded: name), count: size)
        call(buffer.append(data) { done.record(name) })
    }

    private func read(_ count: Int, from buffer: inout PieceBuffer) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let (copied, closures) = bytes.withUnsafeMutableBytes { buffer.copy(into: $0) }
        call(closures)
        return Array(bytes.prefix(copied))
    }

    private func call(_ closures: [PieceBuffer.Done]) { for closure in closures { closure() } }

    private var all: [Int] { done.values }

    @Test func `pieces count as read as far as they fit, the others when they were read`() {
        var buffer = PieceBuffer(allowance: 5)
        append(3, as: 1, to: &buffer)
        append(4, as: 2, to: &buffer)
        append(1, as: 3, to: &buffer)
        #expect(all == [1])
        #expect(read(2, from: &buffer) == [1, 1])
        #expect(all == [1, 2])
        #expect(read(2, from: &buffer) == [1, 2])
        #expect(all == [1, 2, 3])
        append(9, as: 4, to: &buffer)
        #expect(read(6, from: &buffer) == [2, 2, 2, 3, 4, 4])
        #expect(all == [1, 2, 3])
        // The rest of a piece that was begun fits.
        #expect(read(2, from: &buffer) == [4, 4])
        #expect(all == [1, 2, 3, 4])
        append(1, as: 5, to: &buffer)
        #expect(all == [1, 2, 3, 4])
        #expect(read(9, from: &buffer) == [4, 4, 4, 4, 4, 5])
        #expect(all == [1, 2, 3, 4, 5])
        #expect(buffer.isEmpty && read(1, from: &buffer).isEmpty)
    }

    @Test func `dropped pieces count as read once, and leave room for others`() {
        var buffer = PieceBuffer(allowance: 2)
        for name in 1...3 { append(2, as: name, to: &buffer) }
        _ = read(1, from: &buffer)
        call(buffer.drop())
        #expect(all == [1, 2, 3])
        #expect(buffer.isEmpty)
        append(2, as: 4, to: &buffer)
        #expect(all == [1, 2, 3, 4])
    }

    /// If each call moved or visited all pieces, the test would take hours.
    @Test(.timeLimit(.minutes(1)), arguments: [0, 1 << 30])
    func `pieces are appended and read in linear time`(allowance: Int) {
        var buffer = PieceBuffer(allowance: allowance)
        let count = 500_000
        for _ in 0..<count { _ = buffer.append(Data([7])) {} }
        var total = 0
        while case let bytes = read(1, from: &buffer), !bytes.isEmpty { total += bytes.count }
        #expect(total == count)
    }
}

import Glibc
import OutletTransport
import Synchronization

/// Large blocks of memory that bodies have used, for the bodies of later transfers.
///
/// Fresh memory takes a page fault for each 4 KiB, which is a tenth of the CPU time of a gzip body
/// of 1 MiB (`Benchmarks/tricks body-blocks`).
///
/// Thread: any.
final class BlockPool: Sendable {
    /// A block allocated with `malloc`.
    struct Block: @unchecked Sendable {
        // because one owner at a time uses the memory.
        let base: UnsafeMutableRawPointer
        /// The size in bytes.
        let capacity: Int
    }

    private struct State {
        /// The idle blocks, the smallest first.
        var blocks: [Block] = []
        /// The sum of their sizes in bytes.
        var size = 0
    }

    /// The sizes of the blocks that are kept, in bytes.
    private static let sizes = 64 << 10...8 << 20

    /// The maximum sum of the sizes of idle blocks, in bytes.
    private static let limit = 32 << 20

    private let state = Lock(State())
    /// Whether blocks that are returned are freed; changed under the lock.
    private let isFreeing = Atomic(true)

    deinit { freeIdle() }

    /// Whether blocks of a size are kept.
    static func keeps(_ size: Int) -> Bool { sizes.contains(size) }

    /// Rounds a size up, by at most an eighth, so that blocks fit bodies of similar sizes.
    static func rounded(_ size: Int) -> Int {
        let step = max(1, (1 << (Int.bitWidth - 1 - size.leadingZeroBitCount)) / 8)
        return (size + step - 1) / step * step
    }

    /// Whether blocks that are returned are freed: until one is asked for, and after ``freeIdle()``.
    var freesReturned: Bool { isFreeing.load(ordering: .relaxed) }

    /// Removes and returns the smallest idle block of at least a size; `nil` if there is none.
    func take(_ size: Int) -> Block? {
        state.withLock { state in
            isFreeing.store(false, ordering: .relaxed)
            guard let index = state.blocks.firstIndex(where: { $0.capacity >= size }) else {
                return nil
            }
            let block = state.blocks.remove(at: index)
            state.size -= block.capacity
            return block
        }
    }

    /// Takes a block that is no longer used.
    func give(_ block: Block) {
        let isKept = state.withLock { state in
            guard !freesReturned, Self.keeps(block.capacity),
                block.capacity <= Self.limit - state.size
            else { return false }
            let index =
                state.blocks.firstIndex { $0.capacity >= block.capacity } ?? state.blocks.count
            state.blocks.insert(block, at: index)
            state.size += block.capacity
            return true
        }
        if !isKept { free(block.base) }
    }

    /// Frees the idle blocks, and those that are returned before one is asked for.
    func freeIdle() {
        let blocks = state.withLock { state in
            isFreeing.store(true, ordering: .relaxed)
            defer { state = State() }
            return state.blocks
        }
        for block in blocks { free(block.base) }
    }
}

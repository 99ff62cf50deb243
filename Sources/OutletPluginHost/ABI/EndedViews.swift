import CPluginLoad
import Glibc
import OutletTransport

/// The memory of views after their end, in which the checker finds plugins that keep a view.
///
/// Without ``begin()``, memory is freed and nothing is looked for. With it, the memory is overwritten
/// with bytes that no header field and no UTF-8 text may contain, and stays mapped for a while: the
/// host refuses a text that a plugin reads from it, and says so.
///
/// Thread: any.
package enum EndedViews {
    /// The bytes that the memory is filled with, alternately: the first is not UTF-8, and the second is
    /// a control character that field values must not contain.
    private static let fill: (UInt8, UInt8) = (0xFF, 0x1A)
    /// How much memory stays mapped, in bytes.
    private static let most = 32 << 20

    private struct State {
        /// The addresses of blocks, the oldest at ``first``.
        var blocks: [UInt] = []
        var first = 0
        var size = 0
    }
    private static let state = Lock(State())

    // `nonisolated(unsafe)` because it is written once, before any plugin is loaded.
    nonisolated(unsafe) private(set) static var areKept = false

    /// Keeps the memory of views that end from now on; to be called before any plugin is loaded.
    package static func begin() { areKept = true }

    /// What the host says of a text that a plugin has read from a view after its end.
    package static let fact = "it was read from a view after the view's end"

    /// Overwrites a block of `malloc()`, and frees it later.
    static func keep(_ block: UnsafeMutableRawPointer) {
        let size = cpluginload_block_size(block)
        for offset in 0..<size {
            block.storeBytes(
                of: offset.isMultiple(of: 2) ? fill.0 : fill.1, toByteOffset: offset,
                as: UInt8.self)
        }
        state.withLock { state in
            state.blocks.append(UInt(bitPattern: block))
            state.size += size
            while state.size > most, state.first < state.blocks.count {
                let oldest = UnsafeMutableRawPointer(bitPattern: state.blocks[state.first])
                state.first += 1
                guard let oldest else { continue }
                state.size -= cpluginload_block_size(oldest)
                free(oldest)
            }
            guard state.first > state.blocks.count / 2 else { return }
            state.blocks.removeFirst(state.first)
            state.first = 0
        }
    }

    /// Whether bytes have at least two of a view that has ended.
    package static func contain(_ bytes: some Collection<UInt8>) -> Bool {
        guard areKept else { return false }
        let isFound = bytes.withContiguousStorageIfAvailable { bytes in
            var start = 0
            while let base = bytes.baseAddress,
                let found = memchr(base + start, Int32(fill.0), bytes.count - start)
            {
                let index = UnsafeRawPointer(found) - UnsafeRawPointer(base)
                let near = max(index - 1, 0)..<min(index + 2, bytes.count)
                if bytes[near].contains(fill.1) { return true }
                start = index + 1
            }
            return false
        }
        return isFound == true
    }
}

import FoundationEssentials
import Glibc

/// A buffer allocated with `malloc`, so that `Data` can take it over without a copy.
struct ByteBuffer: ~Copyable {
    /// Where large blocks come from, and return to.
    private let blocks: BlockPool
    private var base: UnsafeMutableRawPointer?
    private(set) var count = 0
    private var capacity = 0

    /// The size in bytes up to which copying is cheaper than passing the memory on and allocating
    /// new.
    static var copyLimit: Int { 16 * 1024 }

    /// Makes an empty buffer.
    init(from blocks: BlockPool) { self.blocks = blocks }

    deinit {
        free(base)
    }

    /// The bytes, which are valid until the buffer changes.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Whether more bytes fit without further memory.
    func hasRoom(for more: Int) -> Bool { more <= capacity - count }

    /// Makes the capacity at least `size` bytes; if that fails, the next append fails.
    mutating func reserve(_ size: Int) {
        guard size > capacity else { return }
        guard BlockPool.keeps(size) else { return grow(to: size) }
        let size = BlockPool.rounded(size)
        guard let block = blocks.take(size) else { return grow(to: size) }
        if let base {
            memcpy(block.base, base, count)
            blocks.give(.init(base: base, capacity: capacity))
        }
        base = block.base
        capacity = block.capacity
    }

    private mutating func grow(to size: Int) {
        guard let grown = realloc(base, size) else { return }
        base = grown
        capacity = size
    }

    /// Appends bytes.
    ///
    /// - Returns: False if memory cannot be allocated.
    mutating func append(_ more: UnsafeRawBufferPointer) -> Bool {
        guard let source = more.baseAddress else { return true }
        if !hasRoom(for: more.count) {
            reserve(max(capacity * 2, count + more.count, 512))
            guard hasRoom(for: more.count) else { return false }
        }
        guard let base else { return false }
        memcpy(base + count, source, more.count)
        count += more.count
        return true
    }

    /// Removes the bytes and keeps the memory.
    mutating func clear() {
        count = 0
    }

    /// Returns the bytes and leaves the buffer empty.
    ///
    /// At most a third of the memory that `Data` then holds has no bytes.
    mutating func takeData() -> Data {
        defer { count = 0 }
        guard let base else { return Data() }
        guard count > Self.copyLimit else {
            let data = Data(bytes: base, count: count)
            if capacity > Self.copyLimit { release() }
            return data
        }
        let isWasteful =
            BlockPool.keeps(capacity) ? capacity - count > capacity / 3 : capacity > count
        return passOn(isWasteful ? shrunk(base) : base)
    }

    /// Passes the memory on to `Data`.
    private mutating func passOn(_ base: UnsafeMutableRawPointer) -> Data {
        let block = BlockPool.Block(base: base, capacity: capacity)
        self.base = nil
        capacity = 0
        guard BlockPool.keeps(block.capacity) else {
            return Data(bytesNoCopy: base, count: count, deallocator: .free)
        }
        return Data(
            bytesNoCopy: base, count: count,
            deallocator: .custom { [blocks] _, _ in blocks.give(block) })
    }

    /// Frees the part of the memory that has no bytes; the rest may move.
    private mutating func shrunk(_ base: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
        let size = BlockPool.keeps(count) ? BlockPool.rounded(count) : count
        guard size < capacity, let fitted = realloc(base, size) else { return base }
        capacity = size
        return fitted
    }

    /// Gives the memory back.
    mutating func release() {
        if let base { blocks.give(.init(base: base, capacity: capacity)) }
        base = nil
        capacity = 0
        count = 0
    }

    /// Removes the bytes, and gives the memory back if it is more than a small response needs.
    mutating func trim() {
        count = 0
        if capacity > Self.copyLimit { release() }
    }
}

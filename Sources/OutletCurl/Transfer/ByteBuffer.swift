import FoundationEssentials
import Glibc

/// Bytes in memory of libc's, so that they can be handed over as `Data` without a copy.
struct ByteBuffer: ~Copyable {
    private var base: UnsafeMutableRawPointer?
    private(set) var count = 0
    private var capacity = 0

    /// Up to this size a copy is cheaper than giving the memory away and asking for new.
    static var copyLimit: Int { 16 * 1024 }

    deinit {
        free(base)
    }

    /// The bytes; valid until the buffer changes.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Makes room for `size` bytes in all; a failure shows at the next append.
    mutating func reserve(_ size: Int) {
        guard size > capacity, let grown = realloc(base, size) else { return }
        base = grown
        capacity = size
    }

    /// Adds bytes at the end.
    ///
    /// - Returns: False when memory is short.
    mutating func append(_ more: UnsafeRawBufferPointer) -> Bool {
        guard let source = more.baseAddress else { return true }
        if more.count > capacity - count {
            reserve(max(capacity * 2, count + more.count, 512))
            guard more.count <= capacity - count else { return false }
        }
        guard let base else { return false }
        memcpy(base + count, source, more.count)
        count += more.count
        return true
    }

    /// Forgets the bytes and keeps the memory.
    mutating func clear() {
        count = 0
    }

    /// Hands the bytes over and leaves the buffer empty.
    mutating func takeData() -> Data {
        defer { count = 0 }
        guard let base else { return Data() }
        guard count > Self.copyLimit else {
            let data = Data(bytes: base, count: count)
            if capacity > Self.copyLimit { release() }
            return data
        }
        let fitted = capacity > count ? realloc(base, count) ?? base : base
        let data = Data(bytesNoCopy: fitted, count: count, deallocator: .free)
        self.base = nil
        capacity = 0
        return data
    }

    /// Gives the memory back.
    mutating func release() {
        free(base)
        base = nil
        capacity = 0
        count = 0
    }

    /// Gives the memory back when it is more than a small response needs.
    mutating func trim() {
        count = 0
        if capacity > Self.copyLimit { release() }
    }
}

import FoundationEssentials
import Glibc

/// A buffer allocated with `malloc`, so that `Data` can take it over without a copy.
struct ByteBuffer: ~Copyable {
    private var base: UnsafeMutableRawPointer?
    private(set) var count = 0
    private var capacity = 0

    /// The size in bytes up to which copying is cheaper than passing the memory on and allocating
    /// new.
    static var copyLimit: Int { 16 * 1024 }

    deinit {
        free(base)
    }

    /// The bytes, which are valid until the buffer changes.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Makes the capacity at least `size` bytes; if that fails, the next append fails.
    mutating func reserve(_ size: Int) {
        guard size > capacity, let grown = realloc(base, size) else { return }
        base = grown
        capacity = size
    }

    /// Appends bytes.
    ///
    /// - Returns: False if memory cannot be allocated.
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

    /// Removes the bytes and keeps the memory.
    mutating func clear() {
        count = 0
    }

    /// Returns the bytes and leaves the buffer empty.
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

    /// Frees the memory.
    mutating func release() {
        free(base)
        base = nil
        capacity = 0
        count = 0
    }

    /// Removes the bytes, and frees the memory if it is more than a small response needs.
    mutating func trim() {
        count = 0
        if capacity > Self.copyLimit { release() }
    }
}

import COutletPlugin
import Glibc

/// Memory for what all plugins share: they can read it, and it is never freed.
///
/// A plugin that writes to it crashes instead of making others crash.
enum ReadOnlyMemory {
    /// Copies a table of functions into pages of its own.
    ///
    /// - Returns: `nil` if there is no memory.
    static func copy<Table: BitwiseCopyable>(_ table: Table) -> UnsafePointer<Table>? {
        let address = withUnsafeBytes(of: table) { copy($0) }
        return address?.assumingMemoryBound(to: Table.self)
    }

    /// Copies a text into pages of its own.
    ///
    /// - Returns: A view of the copy; an empty one if there is no memory.
    static func copy(_ text: String) -> outlet_view {
        let bytes = Array(text.utf8)
        guard let address = bytes.withUnsafeBytes({ copy($0) }) else { return outlet_view() }
        return outlet_view(
            ptr: address.assumingMemoryBound(to: UInt8.self), len: UInt64(bytes.count))
    }

    private static func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        // Freed by nobody; the kernel rounds the size up to whole pages.
        let size = max(bytes.count, 1)
        guard
            let memory = mmap(
                nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { return nil }
        UnsafeMutableRawBufferPointer(start: memory, count: size).copyMemory(from: bytes)
        guard mprotect(memory, size, PROT_READ) == 0 else {
            munmap(memory, size)
            return nil
        }
        return UnsafeRawPointer(memory)
    }
}

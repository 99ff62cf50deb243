import COutletPlugin
import OutletHTTP

/// Allocates copies of bytes for a plugin and frees them together in `deinit`.
struct ByteArena: ~Copyable, @unchecked Sendable {
    // @unchecked because the bytes never change.

    /// The block allocated last, which begins with the address of the one before; `nil` if there is
    /// none.
    private var last: UnsafeMutableRawPointer?
    /// The unused memory begins here; `nil` if there is none.
    private var next: UnsafeMutableRawPointer?
    /// The number of unused bytes.
    private var rest = 0

    /// The size of a block without what is in front, in bytes, unless it is for one larger
    /// allocation.
    ///
    /// A plugin that reads one part usually reads more. With 1,008 bytes, the fields of a usual
    /// request fit, and `malloc` has a cache for such blocks.
    private static let blockSize = 1008
    /// The alignment of blocks, and the size of what is in front of their memory, in bytes.
    private static let blockAlignment = 16

    deinit {
        var block = last
        while let current = block {
            block = current.load(as: UnsafeMutableRawPointer?.self)
            if EndedViews.areKept { EndedViews.keep(current) } else { current.deallocate() }
        }
    }

    /// Copies bytes; the copy is valid as long as the arena exists.
    mutating func copy(_ bytes: some Collection<UInt8>) -> CopiedBytes {
        CopiedBytes(block: UnsafeRawBufferPointer(mutableCopy(bytes)))
    }

    /// Copies bytes into memory of the same size, which is valid as long as the arena exists.
    mutating func mutableCopy(
        _ bytes: some Collection<UInt8>
    ) -> UnsafeMutableBufferPointer<UInt8> {
        let copied = bytes.withContiguousStorageIfAvailable { bytes in
            let memory = allocate(bytes.count)
            memory.copyMemory(from: UnsafeRawBufferPointer(bytes))
            return memory.bindMemory(to: UInt8.self)
        }
        if let copied { return copied }
        let memory = allocate(bytes.count).bindMemory(to: UInt8.self)
        _ = memory.update(fromContentsOf: bytes)
        return memory
    }

    /// Copies a text as UTF-8; the copy is valid as long as the arena exists.
    mutating func copy(_ text: String) -> CopiedBytes { copy(text.utf8) }

    /// Copies header fields into a C array; the copy is valid as long as the arena exists.
    mutating func copy(_ headers: HTTPHeaders) -> CopiedFields {
        copy(
            headers.indices.map {
                outlet_field(
                    name: copy(headers[$0].name).view, value: copy(valueAt: $0, of: headers).view)
            })
    }

    /// Copies a C array, but not the bytes of its fields; it is valid as long as the arena exists.
    mutating func copy(_ fields: [outlet_field]) -> CopiedFields {
        let block = allocate(
            fields.count * MemoryLayout<outlet_field>.stride,
            alignment: MemoryLayout<outlet_field>.alignment)
        let list = block.bindMemory(to: outlet_field.self)
        _ = list.initialize(fromContentsOf: fields)
        return CopiedFields(
            first: list.baseAddress.map { UnsafePointer($0) }, count: fields.count)
    }

    /// Copies the value of a header field; the copy is valid as long as the arena exists.
    mutating func copy(valueAt position: Int, of headers: HTTPHeaders) -> CopiedBytes {
        headers.withValue(at: position) { copy($0) }
    }

    /// Allocates memory that is valid as long as the arena exists.
    @inline(__always)
    mutating func allocate(
        _ count: Int, alignment: Int = 1
    ) -> UnsafeMutableRawBufferPointer {
        let gap = -Int(bitPattern: next) & (alignment - 1)
        guard let next, count + gap <= rest else { return allocateInBlock(count) }
        self.next = next + (gap + count)
        rest -= gap + count
        return UnsafeMutableRawBufferPointer(start: next + gap, count: count)
    }

    /// Allocates memory at the beginning of a new block.
    private mutating func allocateInBlock(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let size = max(count, Self.blockSize)
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: Self.blockAlignment + size, alignment: Self.blockAlignment)
        block.initializeMemory(as: UnsafeMutableRawPointer?.self, to: last)
        last = block
        let memory = block + Self.blockAlignment
        // A large allocation gets a block of its own; the unused part of the last block stays
        // usable.
        if count < Self.blockSize {
            next = memory + count
            rest = size - count
        }
        return UnsafeMutableRawBufferPointer(start: memory, count: count)
    }
}

/// The copies of one message's parts for a plugin.
///
/// Each part is copied once, so repeated reads need no more memory than the message itself.
struct MessageCopies: ~Copyable, Sendable {
    private var arena = ByteArena()
    private var texts: [(part: Part, bytes: CopiedBytes)] = []
    /// The copied field values, by the field's position; `nil` if not copied yet.
    private var values: [CopiedBytes?] = []
    private var list: CopiedFields?

    /// A part of a message other than its header fields.
    enum Part: Equatable, Sendable {
        case method
        case url
        case body
        case failureCode
        case failureMessage
        case attribute(String)
    }

    /// Returns the copy of a part; makes it at the first call.
    mutating func copy(_ part: Part, _ bytes: some Collection<UInt8>) -> CopiedBytes {
        if let kept = texts.first(where: { $0.part == part }) { return kept.bytes }
        let bytes = arena.copy(bytes)
        texts.append((part, bytes))
        return bytes
    }

    /// Returns the copy of a field's value; makes it at the first call.
    mutating func copy(valueAt position: Int, of headers: HTTPHeaders) -> CopiedBytes {
        if position < values.count, let kept = values[position] { return kept }
        if position >= values.count {
            values.append(contentsOf: repeatElement(nil, count: position + 1 - values.count))
        }
        let bytes = arena.copy(valueAt: position, of: headers)
        values[position] = bytes
        return bytes
    }

    /// Returns the copy of all fields; makes it at the first call.
    mutating func copy(_ headers: HTTPHeaders) -> CopiedFields {
        if let list { return list }
        let fields = arena.copy(headers)
        list = fields
        return fields
    }

    /// Discards all copies, because any part of the message may have changed.
    ///
    /// The memory is not freed: the plugin may still read it.
    mutating func invalidate() {
        texts.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        list = nil
    }
}

/// Bytes that a plugin may read.
struct CopiedBytes: @unchecked Sendable {
    // @unchecked because the bytes never change while a plugin may read them.
    let block: UnsafeRawBufferPointer

    var view: outlet_view {
        outlet_view(
            ptr: block.baseAddress?.assumingMemoryBound(to: UInt8.self), len: UInt64(block.count))
    }
}

/// A list of fields that a plugin may read.
struct CopiedFields: @unchecked Sendable {
    // @unchecked because the list never changes while a plugin may read it.
    let first: UnsafePointer<outlet_field>?
    let count: Int
}

import COutletPlugin
import OutletHTTP

/// Allocates copies of bytes for a plugin and frees them together in `deinit`.
struct ByteArena: ~Copyable, @unchecked Sendable {
    // @unchecked because the bytes never change.
    private var blocks: [UnsafeMutableRawBufferPointer] = []
    /// The unused part of the last block begins here; `nil` before the first block.
    private var next: UnsafeMutableRawPointer?
    /// The number of unused bytes.
    private var rest = 0

    /// The minimum size of an allocation, in bytes.
    ///
    /// A plugin that reads one part usually reads more.
    private static let blockSize = 512

    deinit {
        for block in blocks { block.deallocate() }
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
            let memory = allocate(bytes.count).bindMemory(to: UInt8.self)
            if let start = memory.baseAddress, let source = bytes.baseAddress {
                start.update(from: source, count: bytes.count)
            }
            return memory
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
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        blocks.append(block)
        let memory = UnsafeMutableRawBufferPointer(start: block.baseAddress, count: count)
        // A large allocation gets a block of its own; the unused part of the last block stays
        // usable.
        guard count < Self.blockSize else { return memory }
        next = block.baseAddress.map { $0 + count }
        rest = size - count
        return memory
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

import COutletPlugin
import OutletHTTP

/// Copies of texts that a plugin was lent, kept until the hook that asked for them is over.
final class ByteArena: @unchecked Sendable {
    // @unchecked because its owner's lock covers `blocks`, and the bytes never change.
    private var blocks: [UnsafeMutableRawBufferPointer] = []

    deinit {
        for block in blocks { block.deallocate() }
    }

    /// Lends a copy of bytes.
    func lend(_ bytes: some Collection<UInt8>) -> Loan {
        let block = allocate(bytes.count)
        block.copyBytes(from: bytes)
        return Loan(block: UnsafeRawBufferPointer(block))
    }

    /// Lends a copy of a text.
    func lend(_ text: String) -> Loan { lend(text.utf8) }

    /// Lends copies of fields, all in one block: names and values one behind the other.
    func lend(_ fields: [(name: String, value: String)]) -> [(name: Loan, value: Loan)] {
        let size = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        let block = allocate(size)
        var offset = 0
        func copy(_ text: String) -> Loan {
            let part = UnsafeMutableRawBufferPointer(
                rebasing: block[offset..<offset + text.utf8.count])
            part.copyBytes(from: text.utf8)
            offset += text.utf8.count
            return Loan(block: UnsafeRawBufferPointer(part))
        }
        return fields.map { (name: copy($0.name), value: copy($0.value)) }
    }

    /// Lends a list of fields as C sees it.
    func lend(_ headers: HTTPHeaders) -> LentFields {
        let fields = lend(headers.map { (name: $0.name, value: $0.value) })
        let block = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(fields.count, 1) * MemoryLayout<outlet_field>.stride,
            alignment: MemoryLayout<outlet_field>.alignment)
        blocks.append(block)
        let list = block.bindMemory(to: outlet_field.self)
        for (index, field) in fields.enumerated() {
            list.initializeElement(
                at: index, to: outlet_field(name: field.name.view, value: field.value.view))
        }
        return LentFields(first: list.baseAddress.map { UnsafePointer($0) }, count: fields.count)
    }

    /// Lends a copy of a text for as long as the process lives.
    static func permanent(_ text: String) -> outlet_view {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
        _ = copy.initialize(from: text.utf8)
        return outlet_view(ptr: copy.baseAddress, len: UInt64(copy.count))
    }

    private func allocate(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 1), alignment: 1)
        blocks.append(block)
        return UnsafeMutableRawBufferPointer(rebasing: block[..<count])
    }
}

/// Bytes lent to a plugin.
struct Loan: @unchecked Sendable {
    // @unchecked because the bytes never change while they are lent.
    let block: UnsafeRawBufferPointer

    var view: outlet_view {
        outlet_view(
            ptr: block.baseAddress?.assumingMemoryBound(to: UInt8.self), len: UInt64(block.count))
    }
}

/// A list of fields lent to a plugin.
struct LentFields: @unchecked Sendable {
    // @unchecked because the list never changes while it is lent.
    let first: UnsafePointer<outlet_field>?
    let count: Int
}

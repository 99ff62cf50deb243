import Glibc

/// Reads parts of an open file, within its length and never through a mapping: a file that
/// shrinks meanwhile gives an error instead of SIGBUS.
struct FileBytes {
    let descriptor: Int32
    let size: UInt64

    /// Why the bytes are not there.
    struct OutOfBounds: Error {
        let reason: String
    }

    /// The largest part that is read at once, in bytes.
    static let limit: UInt64 = 64 << 20

    /// The bytes of a part.
    ///
    /// - Parameter what: What lies there, for the error's text.
    func read(_ what: String, at offset: UInt64, count: UInt64) throws(OutOfBounds) -> [UInt8] {
        let (end, overflow) = offset.addingReportingOverflow(count)
        guard !overflow, end <= size else {
            throw OutOfBounds(
                reason: "\(what) ends at byte \(overflow ? UInt64.max : end), the file at byte "
                    + "\(size): it is truncated or damaged")
        }
        guard count <= FileBytes.limit else {
            throw OutOfBounds(reason: "\(what) takes \(count) bytes, more than any plugin needs")
        }
        var failure: OutOfBounds?
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, filled in
            while filled < Int(count) {
                let got = pread(
                    descriptor, buffer.baseAddress?.advanced(by: filled), Int(count) - filled,
                    off_t(offset) + off_t(filled))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else {
                    let fact = got < 0 ? systemText(errno) : "the file ended early"
                    failure = OutOfBounds(reason: "\(what) cannot be read: \(fact)")
                    return
                }
                filled += got
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

extension [UInt8] {
    /// A little-endian number at an offset, which must lie inside.
    func number<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
        withUnsafeBytes {
            Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type))
        }
    }

    /// The text at an offset up to the next NUL; `nil` when the offset or the NUL lies outside.
    func text(at offset: Int) -> String? {
        guard offset >= 0, offset < count,
            let end = self[offset...].firstIndex(of: 0)
        else { return nil }
        return String(decoding: self[offset..<end], as: UTF8.self)
    }
}

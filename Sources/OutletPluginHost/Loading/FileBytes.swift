import Glibc
import OutletFiles

/// Reads parts of an open file with `pread`, within its size.
///
/// The file is not mapped, so that one that shrinks meanwhile causes an error instead of SIGBUS.
struct FileBytes {
    let descriptor: Int32
    let size: UInt64

    /// Why bytes could not be read.
    struct OutOfBounds: Error {
        let reason: String
    }

    /// The largest number of bytes read at once.
    static let limit: UInt64 = 64 << 20

    /// Reads a part of the file.
    ///
    /// - Parameters:
    ///   - what: A description of the part for the error's text.
    ///   - offset: The offset in bytes.
    ///   - count: The number of bytes, at most ``limit``.
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
    /// A little-endian number at an offset, all of whose bytes must lie inside.
    func number<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
        withUnsafeBytes {
            Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type))
        }
    }

    /// The text from an offset to the next NUL; `nil` when the offset is outside or no NUL follows.
    func text(at offset: Int) -> String? {
        guard offset >= 0, offset < count,
            let end = self[offset...].firstIndex(of: 0)
        else { return nil }
        return String(decoding: self[offset..<end], as: UTF8.self)
    }
}

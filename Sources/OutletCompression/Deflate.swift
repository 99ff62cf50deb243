internal import CZlib
package import FoundationEssentials

/// Compresses bytes as HTTP's `deflate` coding has them (RFC 9110 §8.4.1.2): zlib's format.
package enum Deflate {
    /// What zlib answered when it refused, such as `Z_MEM_ERROR` (-4).
    package struct Failure: Error, Equatable, CustomStringConvertible {
        /// zlib's code.
        package let code: Int32

        /// The code, in words where zlib has them.
        package var description: String {
            "deflate: \(zError(code).map { String(cString: $0) } ?? "failed") (\(code))"
        }
    }

    /// The bytes in zlib's format (RFC 1950): `78 5E`, deflate, Adler-32.
    ///
    /// The level is 5, the highest whose header is `78 5E`: fewer cycles than zlib's usual 6.
    ///
    /// - Throws: ``Failure``, which is lack of memory.
    ///
    /// Thread: any. Blocks for as long as compressing takes.
    package static func zlib(_ data: Data) throws(Failure) -> Data {
        var compressed = Data(count: Int(compressBound(uLong(data.count))))
        var count = uLong(compressed.count)
        let code = compressed.withUnsafeMutableBytes { target in
            data.withUnsafeBytes { source in
                compress2(
                    target.bindMemory(to: UInt8.self).baseAddress, &count,
                    source.bindMemory(to: UInt8.self).baseAddress, uLong(source.count), 5)
            }
        }
        guard code == Z_OK else { throw Failure(code: code) }
        compressed.removeSubrange(Int(count)...)
        return compressed
    }
}

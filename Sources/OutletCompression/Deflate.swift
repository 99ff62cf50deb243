internal import CZlib
package import FoundationEssentials

/// Compresses bytes for HTTP's `deflate` coding (RFC 9110 §8.4.1.2), which is the zlib format.
package enum Deflate {
    /// An error of zlib, such as `Z_MEM_ERROR` (-4).
    package struct Failure: Error, Equatable, CustomStringConvertible {
        /// zlib's code.
        package let code: Int32

        /// zlib's message for the code, and the code.
        package var description: String {
            "deflate: \(zError(code).map { String(cString: $0) } ?? "failed") (\(code))"
        }
    }

    /// Returns the bytes in zlib format (RFC 1950): the header `78 5E`, deflate, Adler-32.
    ///
    /// Uses level 5, the highest one with the header `78 5E`; it takes less time than zlib's
    /// default 6.
    ///
    /// - Throws: ``Failure`` if there is not enough memory.
    ///
    /// Thread: any. Blocks while it compresses.
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

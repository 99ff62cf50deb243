import COpenSSL

/// The objects of a PEM text (RFC 7468), none of which may be damaged.
///
/// OpenSSL's functions that read objects of one kind stop at the first damaged one in the same way as
/// at the end of the text.
enum PEMText {
    /// Returns the DER of the objects with one of the labels, in order; text between objects and
    /// objects with other labels are skipped.
    ///
    /// - Returns: `nil` if an object of any label is damaged or incomplete, or memory is exhausted.
    static func objects(_ labels: Set<String>, in text: [UInt8]) -> [[UInt8]]? {
        guard !text.isEmpty else { return [] }
        guard let length = Int32(exactly: text.count) else { return nil }
        return text.withUnsafeBytes { bytes -> [[UInt8]]? in
            guard let buffer = BIO_new_mem_buf(bytes.baseAddress, length) else { return nil }
            defer {
                BIO_free(buffer)
                // At the end of the text, OpenSSL adds "no start line" to its error queue.
                ERR_clear_error()
            }
            var found: [[UInt8]] = []
            var count = 0
            ERR_clear_error()
            while let (label, der) = next(buffer) {
                count += 1
                if labels.contains(label) { found.append(der) }
            }
            let error = ERR_peek_last_error()
            guard ERR_GET_LIB(error) == ERR_LIB_PEM, ERR_GET_REASON(error) == PEM_R_NO_START_LINE,
                // OpenSSL skips an object whose first line is damaged.
                boundaries(in: text) == 2 * count
            else { return nil }
            return found
        }
    }

    /// Reads the next object; `nil` if there is none, with an error in OpenSSL's queue.
    private static func next(_ buffer: OpaquePointer) -> (label: String, der: [UInt8])? {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var length = 0
        guard PEM_read_bio(buffer, &name, &header, &data, &length) == 1, let name, let data else {
            return nil
        }
        defer {
            CRYPTO_free(name, #file, #line)
            CRYPTO_free(header, #file, #line)
            // It may be a private key.
            CRYPTO_clear_free(data, length, #file, #line)
        }
        return (String(cString: name), Array(UnsafeBufferPointer(start: data, count: length)))
    }

    /// Counts the lines that begin as the first or the last line of an object.
    private static func boundaries(in text: [UInt8]) -> Int {
        text.split(separator: UInt8(ascii: "\n")).count { line in
            line.starts(with: "-----BEGIN ".utf8) || line.starts(with: "-----END ".utf8)
        }
    }
}

import COpenSSL
package import FoundationEssentials

/// The hash functions that the WebSocket handshake and Digest authentication require.
package enum MessageDigest: Sendable {
    /// MD5 (RFC 1321); insecure, only for servers that offer nothing better.
    case md5
    /// SHA-1 (FIPS 180-4); not collision resistant.
    case sha1
    /// SHA-256 (FIPS 180-4).
    case sha256
    /// SHA-512/256 (FIPS 180-4).
    case sha512t256

    private var algorithm: OpaquePointer? {
        switch self {
        case .md5: EVP_md5()
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        case .sha512t256: EVP_sha512_256()
        }
    }

    /// Returns the hash of a text's UTF-8 bytes; empty if OpenSSL was built without the algorithm.
    package func hash(_ text: String) -> Data { hash(Array(text.utf8)) }

    /// Returns the hash of bytes; empty if OpenSSL was built without the algorithm.
    package func hash(_ bytes: [UInt8]) -> Data {
        var digest = Data(count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        let isMade = digest.withUnsafeMutableBytes { digest in
            bytes.withUnsafeBufferPointer {
                EVP_Digest(
                    $0.baseAddress, $0.count,
                    digest.baseAddress?.assumingMemoryBound(to: UInt8.self), &count, algorithm, nil)
            } == 1
        }
        return isMade ? digest.prefix(Int(count)) : Data()
    }
}

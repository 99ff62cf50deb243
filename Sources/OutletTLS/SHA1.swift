import COpenSSL
package import FoundationEssentials

/// SHA-1 (FIPS 180-4): for protocols that fix it, such as the WebSocket handshake; not for secrets.
package func sha1(_ text: String) -> Data {
    var digest = Data(count: 20)
    var text = text
    digest.withUnsafeMutableBytes { digest in
        text.withUTF8 {
            _ = EVP_Digest(
                $0.baseAddress, $0.count, digest.baseAddress?.assumingMemoryBound(to: UInt8.self),
                nil, EVP_sha1(), nil)
        }
    }
    return digest
}

/// Certificates that OpenSSL's default security level rejects.
extension TestCA {
    /// What is too weak in a chain that is otherwise valid.
    public enum Weakness: String, Sendable, CaseIterable {
        /// The server's certificate is signed with SHA-1.
        case signature
        /// The intermediate certificate has an RSA key of 1024 bits.
        case key
    }

    /// Issues a server's certificate for `localhost` by an intermediate authority.
    ///
    /// Its file also contains the intermediate certificate.
    ///
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public func weakChain(_ weakness: Weakness) async throws -> Identity {
        let middle = Identity(
            certificatePath: directory.path("weak-\(weakness)-middle.pem"),
            keyPath: directory.path("weak-\(weakness)-middle.key"))
        try await sign(
            middle, subject: "/O=Outlet/CN=Outlet Weak Intermediate", extensions: "authority",
            by: Identity(certificatePath: certificatePath, keyPath: keyPath),
            key: weakness == .key ? newRSAKey(middle.keyPath, bits: 1024) : nil)
        let leaf = Identity(
            certificatePath: directory.path("weak-\(weakness).pem"),
            keyPath: directory.path("weak-\(weakness).key"))
        try await sign(
            leaf, subject: "/O=Outlet/CN=localhost", extensions: "server", by: middle,
            digest: weakness == .signature ? "-sha1" : "-sha256")
        let both =
            try directory.read("weak-\(weakness).pem")
            + directory.read("weak-\(weakness)-middle.pem")
        let path = try directory.write(both, to: "weak-\(weakness)-chain.pem")
        return Identity(certificatePath: path, keyPath: leaf.keyPath)
    }

    private func newRSAKey(_ path: String, bits: Int) -> [String] {
        ["-config", "openssl.cnf", "-newkey", "rsa:\(bits)", "-noenc", "-keyout", path]
    }
}

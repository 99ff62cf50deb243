/// What tests of trust need beyond plain certificates.
extension TestCA {
    /// A server's certificate below an authority of its own, which the test authority has signed.
    public struct Chain: Sendable {
        /// The server's; its file holds the authority in between behind it.
        public let server: Identity
        /// The authority in between.
        public let intermediate: Identity
    }

    /// Two certificates, and what tells that one of them was taken back.
    public struct Revocation: Sendable {
        /// A server's that is good.
        public let good: Identity
        /// A server's that was taken back.
        public let revoked: Identity
        /// The list that holds ``revoked``, PEM.
        public let listPath: String
        /// The list of the day before, which holds nothing, PEM.
        public let formerListPath: String
        /// An OCSP response that says that ``good`` is good, DER.
        public let goodStaplePath: String
        /// An OCSP response that says that ``revoked`` was taken back, DER.
        public let revokedStaplePath: String
    }

    /// Issues a certificate below an authority in between.
    public func chain() async throws -> Chain {
        let intermediate = Identity(
            certificatePath: directory.path("intermediate.pem"),
            keyPath: directory.path("intermediate.key"))
        try await sign(
            intermediate, subject: "/O=Outlet/CN=Outlet Test Intermediate",
            extensions: "authority",
            by: Identity(certificatePath: certificatePath, keyPath: keyPath))
        let leaf = Identity(
            certificatePath: directory.path("below.pem"), keyPath: directory.path("below.key"))
        try await sign(
            leaf, subject: "/O=Outlet/CN=localhost", extensions: "server", by: intermediate)
        let both = try directory.read("below.pem") + directory.read("intermediate.pem")
        let path = try directory.write(both, to: "below-chain.pem")
        return Chain(
            server: Identity(certificatePath: path, keyPath: leaf.keyPath),
            intermediate: intermediate)
    }

    /// Issues two certificates and takes one back.
    public func revocation() async throws -> Revocation {
        let good = try await recorded("good")
        let revoked = try await recorded("revoked")
        let files = ["-config", "openssl.cnf", "-name", "revocation_files"]
        let (former, list) = (directory.path("former-list.pem"), directory.path("list.pem"))
        try await openssl(["ca"] + files + ["-gencrl", "-crldays", "2", "-out", former])
        try await openssl(["ca"] + files + ["-revoke", revoked.certificatePath])
        try await openssl(["ca"] + files + ["-gencrl", "-crldays", "2", "-out", list])
        return Revocation(
            good: good, revoked: revoked, listPath: list, formerListPath: former,
            goodStaplePath: try await staple(good), revokedStaplePath: try await staple(revoked))
    }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - key: What `openssl req` makes the key by; a P-256 key if `nil`.
    ///   - digest: What the issuer signs.
    ///   - file: The file that holds the section `extensions`.
    func sign(
        _ identity: Identity, subject: String, extensions: String, by issuer: Identity,
        key: [String]? = nil, digest: String = "-sha256", file: String = "openssl.cnf"
    ) async throws {
        let request = identity.certificatePath + ".csr"
        try await openssl(
            ["req", "-out", request, "-subj", subject] + (key ?? newKey(identity.keyPath)))
        try await openssl([
            "x509", "-req", digest, "-days", "2", "-CA", issuer.certificatePath, "-CAkey",
            issuer.keyPath,
            "-extfile", file, "-extensions", extensions, "-in", request,
            "-out", identity.certificatePath,
        ])
    }

    /// Issues a server's certificate for other names.
    ///
    /// - Parameter names: As OpenSSL's configuration writes them, such as `DNS:a.test`.
    public func server(names: String) async throws -> Identity {
        let name = "names-\(UInt64.random(in: 0 ... .max))"
        let identity = Identity(
            certificatePath: directory.path("\(name).pem"), keyPath: directory.path("\(name).key"))
        let extensions = "[names]\nextendedKeyUsage = serverAuth\nsubjectAltName = \(names)\n"
        try directory.write(extensions, to: "\(name).cnf")
        try await sign(
            identity, subject: "/O=Outlet", extensions: "names",
            by: Identity(certificatePath: certificatePath, keyPath: keyPath), file: "\(name).cnf")
        return identity
    }

    /// Takes a certificate back.
    ///
    /// - Returns: The path of a list that holds it, PEM.
    public func revocationList(of identity: Identity) async throws -> String {
        let files = ["-config", "openssl.cnf", "-name", "revocation_files"]
        let list = identity.certificatePath + ".crl"
        try await openssl(["ca"] + files + ["-revoke", identity.certificatePath])
        try await openssl(["ca"] + files + ["-gencrl", "-crldays", "2", "-out", list])
        return list
    }

    /// A certificate that the authority's records know.
    private func recorded(_ name: String) async throws -> Identity {
        let identity = Identity(
            certificatePath: directory.path("\(name).pem"), keyPath: directory.path("\(name).key"))
        let request = identity.certificatePath + ".csr"
        try await openssl(
            ["req", "-out", request, "-subj", "/O=Outlet/CN=\(name)"] + newKey(identity.keyPath))
        try await openssl([
            "ca", "-batch", "-notext", "-days", "2", "-config", "openssl.cnf", "-name",
            "revocation_files", "-extensions", "server", "-in", request, "-out",
            identity.certificatePath,
        ])
        return identity
    }

    /// A list of another authority, an intermediate one.
    ///
    /// - Returns: The list's path, PEM.
    public func revocationList(by issuer: Identity) async throws -> String {
        let list = issuer.certificatePath + ".own.crl"
        try await openssl([
            "ca", "-config", "openssl.cnf", "-name", "revocation_files", "-cert",
            issuer.certificatePath, "-keyfile", issuer.keyPath, "-gencrl", "-crldays", "2", "-out",
            list,
        ])
        return list
    }

    /// An OCSP response about a certificate of ``revocation()``, DER.
    ///
    /// - Parameters:
    ///   - responder: Who signs it; the authority if `nil`.
    ///   - validity: How long it is valid, as `openssl ocsp` wants to be told.
    /// - Returns: The response's path.
    public func staple(
        _ identity: Identity, signedBy responder: TestCA? = nil,
        validity: [String] = ["-ndays", "2"]
    ) async throws -> String {
        let path = identity.certificatePath + (responder == nil ? "" : ".strange") + ".ocsp"
        let signer = responder ?? self
        try await openssl(
            [
                "ocsp", "-index", "revocation.txt", "-CA", certificatePath, "-rsigner",
                signer.certificatePath, "-rkey", signer.keyPath, "-issuer", certificatePath,
                "-cert", identity.certificatePath, "-respout", path,
            ] + validity)
        return path
    }
}

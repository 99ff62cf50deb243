/// Intermediate certificates and revocation, for tests of server trust.
extension TestCA {
    /// A server's certificate issued by an intermediate, which the test authority has signed.
    public struct Chain: Sendable {
        /// The server's certificate; its file also contains the intermediate one.
        public let server: Identity
        /// The intermediate authority.
        public let intermediate: Identity
    }

    /// Two certificates, one of them revoked, with revocation lists (CRLs) and OCSP responses.
    public struct Revocation: Sendable {
        /// A server's certificate that is not revoked.
        public let good: Identity
        /// A server's certificate that is revoked.
        public let revoked: Identity
        /// A server's certificate that requires a stapled response (RFC 7633) and is not revoked.
        public let stapling: Identity
        /// The path of a CRL that contains ``revoked``, PEM.
        public let listPath: String
        /// The path of an earlier CRL, which is empty, PEM.
        public let formerListPath: String
        /// The path of an OCSP response that reports ``good`` as good, DER.
        public let goodStaplePath: String
        /// The path of an OCSP response that reports ``revoked`` as revoked, DER.
        public let revokedStaplePath: String
        /// The path of an OCSP response that reports ``stapling`` as good, DER.
        public let staplingStaplePath: String
    }

    /// Issues a server's certificate for `localhost` by an intermediate authority.
    ///
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
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

    /// Issues two server certificates and revokes one of them.
    ///
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public func revocation() async throws -> Revocation {
        let good = try await recorded("good")
        let revoked = try await recorded("revoked")
        let stapling = try await recorded("stapling", extensions: "stapling_server")
        let files = ["-config", "openssl.cnf", "-name", "revocation_files"]
        let (former, list) = (directory.path("former-list.pem"), directory.path("list.pem"))
        try await openssl(["ca"] + files + ["-gencrl", "-crldays", "2", "-out", former])
        try await openssl(["ca"] + files + ["-revoke", revoked.certificatePath])
        try await openssl(["ca"] + files + ["-gencrl", "-crldays", "2", "-out", list])
        return Revocation(
            good: good, revoked: revoked, stapling: stapling, listPath: list,
            formerListPath: former,
            goodStaplePath: try await staple(good), revokedStaplePath: try await staple(revoked),
            staplingStaplePath: try await staple(stapling))
    }

    /// Issues a certificate that is valid for two days.
    ///
    /// - Parameters:
    ///   - identity: The paths to write the certificate and its key to.
    ///   - subject: The subject in the form of `openssl req -subj`.
    ///   - extensions: The section of `file` with the certificate's extensions.
    ///   - issuer: The authority that signs the certificate.
    ///   - key: The arguments with which `openssl req` makes the key; `nil` makes a P-256 key.
    ///   - digest: The option of `openssl x509` that selects the hash of the signature.
    ///   - file: The OpenSSL configuration file with the section `extensions`.
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
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
    /// - Parameter names: The subject alternative names in OpenSSL's form, such as `DNS:a.test`.
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
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

    /// Issues a server's certificate that has its host in the subject only, as the common name.
    ///
    /// - Parameters:
    ///   - commonName: The common name.
    ///   - hasOtherName: Whether it has a subject alternative name of another kind, an address of
    ///     electronic mail.
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public func server(commonName: String, hasOtherName: Bool = false) async throws -> Identity {
        let name = "nameless-\(UInt64.random(in: 0 ... .max))"
        let identity = Identity(
            certificatePath: directory.path("\(name).pem"), keyPath: directory.path("\(name).key"))
        try await sign(
            identity, subject: "/O=Outlet/CN=\(commonName)",
            extensions: hasOtherName ? "mailing_server" : "nameless_server",
            by: Identity(certificatePath: certificatePath, keyPath: keyPath))
        return identity
    }

    /// Revokes a certificate and makes a revocation list (CRL).
    ///
    /// - Returns: The path of a CRL that contains the certificate, PEM.
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public func revocationList(of identity: Identity) async throws -> String {
        let files = ["-config", "openssl.cnf", "-name", "revocation_files"]
        let list = identity.certificatePath + ".crl"
        try await openssl(["ca"] + files + ["-revoke", identity.certificatePath])
        try await openssl(["ca"] + files + ["-gencrl", "-crldays", "2", "-out", list])
        return list
    }

    /// Issues a server's certificate and records it in the database that OCSP responses use.
    private func recorded(
        _ name: String, extensions: String = "server"
    ) async throws -> Identity {
        let identity = Identity(
            certificatePath: directory.path("\(name).pem"), keyPath: directory.path("\(name).key"))
        let request = identity.certificatePath + ".csr"
        try await openssl(
            ["req", "-out", request, "-subj", "/O=Outlet/CN=\(name)"] + newKey(identity.keyPath))
        try await openssl([
            "ca", "-batch", "-notext", "-days", "2", "-config", "openssl.cnf", "-name",
            "revocation_files", "-extensions", extensions, "-in", request, "-out",
            identity.certificatePath,
        ])
        return identity
    }

    /// Makes a revocation list (CRL) that another authority signs, such as an intermediate one.
    ///
    /// - Returns: The path of the CRL, PEM.
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public func revocationList(by issuer: Identity) async throws -> String {
        let list = issuer.certificatePath + ".own.crl"
        try await openssl([
            "ca", "-config", "openssl.cnf", "-name", "revocation_files", "-cert",
            issuer.certificatePath, "-keyfile", issuer.keyPath, "-gencrl", "-crldays", "2", "-out",
            list,
        ])
        return list
    }

    /// Makes a revocation list (CRL) with an issuing distribution point (RFC 5280 §5.2.5).
    ///
    /// - Parameter scope: A line of the point's section in OpenSSL's form.
    /// - Returns: The path of the CRL, PEM.
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public func revocationList(limitedTo scope: String) async throws -> String {
        let name = "scope-\(UInt64.random(in: 0 ... .max))"
        let list = directory.path("\(name).crl")
        let extensions =
            "[limited]\nissuingDistributionPoint = critical, @point\n[point]\n\(scope)\n"
        let settings = try directory.read("openssl.cnf") + Array(extensions.utf8)
        try directory.write(settings, to: "\(name).cnf")
        try await openssl([
            "ca", "-config", "\(name).cnf", "-name", "revocation_files", "-gencrl", "-crldays", "2",
            "-crlexts", "limited", "-out", list,
        ])
        return list
    }

    /// Makes an OCSP response about a certificate of ``revocation()``.
    ///
    /// - Parameters:
    ///   - identity: The certificate that the response is about.
    ///   - responder: The authority that signs the response; `nil` is this one.
    ///   - validity: The options of `openssl ocsp` for the validity; two days by default.
    /// - Returns: The path of the response, DER.
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
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

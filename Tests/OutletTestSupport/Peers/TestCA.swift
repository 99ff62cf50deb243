internal import OutletSession
internal import OutletTransport

/// A certificate authority for tests, which issues certificates with the `openssl` program.
///
/// Keys are P-256 and certificates are valid for two days, unless a method says otherwise.
public final class TestCA: Sendable {
    /// A certificate with its key, both in PEM files.
    public struct Identity: Sendable {
        /// The certificate's path.
        public let certificatePath: String
        /// The private key's path; the key is not encrypted.
        public let keyPath: String
    }

    /// What is wrong with a server's certificate.
    public enum Fault: String, Sendable, CaseIterable {
        /// Nothing; it is valid for `localhost` and `127.0.0.1`.
        case none
        /// It was valid only in January 2020.
        case expired
        /// It is valid only for `wrong.host.test`.
        case wrongHost
        /// It is signed with its own key, for `localhost` and `127.0.0.1`.
        case selfSigned
    }

    /// Returns the authority that all tests of a process share, and makes it on the first call.
    ///
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public static func shared() async throws -> TestCA { try await sharedTask.value }

    private static let sharedTask = Task { try await TestCA() }

    /// The path of the authority's certificate, PEM, which clients must trust.
    public let certificatePath: String

    let keyPath: String
    let directory: TemporaryDirectory
    private let issued = Lock<[String: Task<Identity, any Error>]>([:])

    /// Makes an authority with a new key.
    ///
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public init() async throws {
        directory = try TemporaryDirectory()
        certificatePath = directory.path("ca.pem")
        keyPath = directory.path("ca.key")
        try directory.write(Self.configuration, to: "openssl.cnf")
        try directory.write("", to: "index.txt")
        try directory.write("", to: "revocation.txt")
        try await openssl(
            [
                "req", "-x509", "-days", "2", "-subj", "/O=Outlet/CN=Outlet Test CA",
                "-extensions", "authority", "-out", certificatePath,
            ] + newKey(keyPath))
    }

    /// Returns a server's certificate; the same one for the same `fault`.
    ///
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public func server(_ fault: Fault = .none) async throws -> Identity {
        try await issue(
            "server-\(fault)", commonName: fault == .wrongHost ? "wrong.host.test" : "localhost",
            extensions: fault == .wrongHost ? "wrong_server" : "server", fault: fault)
    }

    /// Returns a client's certificate; the same one for the same `commonName`.
    ///
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public func client(commonName: String = "outlet-client") async throws -> Identity {
        try await issue(
            "client-\(commonName)", commonName: commonName, extensions: "client", fault: .none)
    }

    /// Writes an identity to a PKCS #12 file.
    ///
    /// - Returns: The file's path.
    /// - Throws: ``TestSupportError`` with what `openssl` printed.
    public func pkcs12(of identity: Identity, password: String) async throws -> String {
        let path = identity.certificatePath + ".p12"
        try await openssl([
            "pkcs12", "-export", "-in", identity.certificatePath, "-inkey", identity.keyPath,
            "-passout", "pass:\(password)", "-out", path,
        ])
        return path
    }

    /// Issues a certificate, or returns the one issued before under the same name.
    private func issue(
        _ name: String, commonName: String, extensions: String, fault: Fault
    ) async throws -> Identity {
        let task = issued.withLock { issued in
            if let task = issued[name] { return task }
            let task = Task {
                try await make(
                    name, commonName: commonName, extensions: extensions, fault: fault)
            }
            issued[name] = task
            return task
        }
        return try await task.value
    }

    private func make(
        _ name: String, commonName: String, extensions: String, fault: Fault
    ) async throws -> Identity {
        let identity = Identity(
            certificatePath: directory.path("\(name).pem"), keyPath: directory.path("\(name).key"))
        let subject = ["-subj", "/O=Outlet/CN=\(commonName)"]
        if fault == .selfSigned {
            try await openssl(
                ["req", "-x509", "-days", "2", "-extensions", extensions] + subject
                    + ["-out", identity.certificatePath] + newKey(identity.keyPath))
            return identity
        }
        let request = directory.path("\(name).csr")
        try await openssl(["req", "-out", request] + subject + newKey(identity.keyPath))
        let files = ["-in", request, "-out", identity.certificatePath, "-extensions", extensions]
        if fault == .expired {
            // `openssl x509` cannot set a start date in the past. `openssl ca` can, but needs a
            // database file.
            let validity = ["-startdate", "20200101000000Z", "-enddate", "20200131000000Z"]
            try await openssl(
                ["ca", "-batch", "-notext", "-config", "openssl.cnf", "-name", "authority_files"]
                    + validity + files)
        } else {
            let serial = "0x" + String(UInt64.random(in: 1...UInt64(Int64.max)), radix: 16)
            try await openssl(
                [
                    "x509", "-req", "-days", "2", "-set_serial", serial, "-CA", certificatePath,
                    "-CAkey", keyPath, "-extfile", "openssl.cnf",
                ] + files)
        }
        return identity
    }

    func newKey(_ path: String) -> [String] {
        [
            "-config", "openssl.cnf", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-noenc", "-keyout", path,
        ]
    }

    func openssl(_ arguments: [String]) async throws {
        let result = try await Program.run(
            "/usr/bin/openssl", arguments, directory: directory.path)
        guard result.exitCode == 0 else {
            throw TestSupportError(
                "openssl \(arguments.joined(separator: " ")): \(result.errorOutput)")
        }
    }

    private static let configuration = """
        [req]
        distinguished_name = name
        [name]
        [authority]
        basicConstraints = critical, CA:TRUE
        keyUsage = critical, keyCertSign, cRLSign
        subjectKeyIdentifier = hash
        [server]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = serverAuth
        subjectAltName = DNS:localhost, IP:127.0.0.1
        [stapling_server]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = serverAuth
        subjectAltName = DNS:localhost, IP:127.0.0.1
        tlsfeature = status_request
        [nameless_server]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = serverAuth
        [mailing_server]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = serverAuth
        subjectAltName = email:me@localhost
        [wrong_server]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = serverAuth
        subjectAltName = DNS:wrong.host.test
        [client]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = clientAuth
        [authority_files]
        database = index.txt
        new_certs_dir = .
        certificate = ca.pem
        private_key = ca.key
        rand_serial = yes
        unique_subject = no
        default_md = sha256
        policy = any
        [revocation_files]
        database = revocation.txt
        new_certs_dir = .
        certificate = ca.pem
        private_key = ca.key
        rand_serial = yes
        unique_subject = no
        default_md = sha256
        policy = any
        [any]
        organizationName = optional
        commonName = supplied

        """
}

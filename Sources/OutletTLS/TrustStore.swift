import Glibc
package import OutletFiles

/// The paths of the certificate authorities.
package struct TrustStore: Sendable, Equatable {
    /// A PEM bundle (`CURLOPT_CAINFO`); `nil` if there is none or it is not needed.
    package var bundle: String?
    /// A directory of PEM files named by hash (`CURLOPT_CAPATH`); `nil` for none.
    package var directory: String?
    /// Where the paths come from.
    package var source: Source

    /// Where the paths of a store come from.
    package enum Source: Sendable, Equatable {
        /// The program's settings.
        case program
        /// These environment variables.
        case variables([String])
        /// The usual paths of Linux distributions.
        case system
    }

    /// Makes a store with known paths.
    package init(bundle: String? = nil, directory: String? = nil, source: Source = .program) {
        self.bundle = bundle
        self.directory = directory
        self.source = source
    }

    /// The paths of hashed directories in Linux distributions.
    package static let directories = [
        "/etc/ssl/certs", "/etc/pki/tls/certs", "/system/etc/security/cacerts",
    ]
    /// The paths of PEM bundles in Linux distributions.
    package static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// Finds the store of the environment or the system.
    ///
    /// `CURL_CA_BUNDLE` comes first, then `SSL_CERT_FILE` and `SSL_CERT_DIR`, which may both be
    /// set; `SSL_CERT_DIR` is a list with colons, of which at least one directory must be readable
    /// (`SSL_CTX_load_verify_dir`). Without them a hashed directory is preferred, because only the
    /// needed authority is read, while a bundle is parsed completely (20 ms for that of Debian).
    ///
    /// - Parameters:
    ///   - environment: The environment of the process.
    ///   - directories: The paths to search for a hashed directory.
    ///   - bundles: The paths to search for a bundle.
    /// - Throws: ``TrustStoreError/unreadable(variable:path:reason:)`` if a variable names a path
    ///   that cannot be used, ``TrustStoreError/notFound(places:)`` if no store is found.
    package static func find(
        environment: [String: String], directories: [String] = directories,
        bundles: [String] = bundles
    ) throws(TrustStoreError) -> TrustStore {
        func named(_ variable: String) throws(TrustStoreError) -> String? {
            guard let path = environment[variable], !path.isEmpty else { return nil }
            guard access(path, R_OK) == 0 else {
                throw .unreadable(
                    variable: variable, path: path, reason: systemText(errno))
            }
            if let fault = NotPlainFile(path) {
                throw .unreadable(
                    variable: variable, path: path, reason: "it is \(fault.kind), not a plain file")
            }
            return path
        }
        if let bundle = try named("CURL_CA_BUNDLE") {
            return TrustStore(bundle: bundle, source: .variables(["CURL_CA_BUNDLE"]))
        }
        let bundle = try named("SSL_CERT_FILE")
        let directory = try listed(environment["SSL_CERT_DIR"] ?? "")
        if bundle != nil || directory != nil {
            let variables = [
                bundle.map { _ in "SSL_CERT_FILE" }, directory.map { _ in "SSL_CERT_DIR" },
            ]
            return TrustStore(
                bundle: bundle, directory: directory,
                source: .variables(variables.compactMap(\.self)))
        }
        if let directory = directories.first(where: isHashed) {
            return TrustStore(directory: directory, source: .system)
        }
        if let bundle = bundles.first(where: { access($0, R_OK) == 0 && NotPlainFile($0) == nil }) {
            return TrustStore(bundle: bundle, source: .system)
        }
        throw .notFound(places: directories + bundles)
    }

    /// Checks the directories of `SSL_CERT_DIR`.
    ///
    /// - Returns: The whole list; `nil` if it is empty.
    private static func listed(_ list: String) throws(TrustStoreError) -> String? {
        let paths = list.utf8.split(separator: UInt8(ascii: ":")).map { String(Substring($0)) }
        guard !paths.isEmpty else { return nil }
        if paths.allSatisfy({ access($0, R_OK) != 0 }) {
            throw .unreadable(variable: "SSL_CERT_DIR", path: list, reason: systemText(errno))
        }
        for path in paths {
            guard let fault = fault(inDirectory: path) else { continue }
            throw .unreadable(variable: "SSL_CERT_DIR", path: path, reason: "\(fault)")
        }
        return list
    }

    /// Returns the first hashed name of a directory that is no plain file; `nil` if there is none.
    ///
    /// OpenSSL opens such names during a handshake, and opening a named pipe would block until it
    /// has a writer.
    package static func fault(inDirectory path: String) -> NotPlainFile? {
        hashedName(in: path) { NotPlainFile("\(path)/\($0)") }
    }

    /// Whether a directory has file names as `openssl rehash` makes them.
    static func isHashed(_ path: String) -> Bool { hashedName(in: path) { _ in true } ?? false }

    /// Calls `answer` for each hashed name of a directory and returns the first result that is not
    /// `nil`.
    ///
    /// A hashed name has eight hexadecimal digits, a dot, an `r` for a revocation list, and a
    /// number.
    private static func hashedName<Answer>(
        in path: String, _ answer: (_ name: String) -> Answer?
    ) -> Answer? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { name -> String? in
                let number = name[9] == UInt8(ascii: "r") ? 10 : 9
                guard name[8] == UInt8(ascii: "."), (0x30...0x39).contains(name[number]),
                    name[..<8].allSatisfy({
                        (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
                    })
                else { return nil }
                return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let answer = name.flatMap(answer) { return answer }
        }
        return nil
    }
}

extension TrustStore: CustomStringConvertible {
    /// The paths and where they come from.
    package var description: String {
        let places = [bundle, directory].compactMap(\.self).joined(separator: " and ")
        switch source {
        case .program: return "\(places), by the program's settings"
        case .variables(let names): return "\(places), by \(names.joined(separator: " and "))"
        case .system: return "\(places), the system's"
        }
    }

    /// How the user can trust another authority.
    package var advice: String {
        switch source {
        case .program: "if you trust its authority, add it to \(bundle ?? directory ?? "them")"
        case .variables(["CURL_CA_BUNDLE"]):
            "if you trust its authority, add it to what CURL_CA_BUNDLE names, unset that, which "
                + "counts before SSL_CERT_FILE, or set certificateAuthorities"
        case .variables(let names):
            "if you trust its authority, add it to what \(names.joined(separator: " or ")) names, or "
                + "set certificateAuthorities"
        case .system:
            "if you trust its authority, name it in SSL_CERT_FILE or certificateAuthorities"
        }
    }
}

/// Why no certificate authorities were found.
package enum TrustStoreError: Error, Equatable, Sendable {
    /// An environment variable names a file or directory that cannot be used.
    case unreadable(variable: String, path: String, reason: String)
    /// None of the usual paths has certificate authorities.
    case notFound(places: [String])
}

extension TrustStoreError: CustomStringConvertible {
    /// What is missing, and which paths were searched.
    package var description: String {
        switch self {
        case .unreadable(let variable, let path, let reason):
            "certificate authorities: \(variable) names \(path), which cannot be read: \(reason)"
        case .notFound(let places):
            "certificate authorities: this system has none: looked in "
                + places.joined(separator: ", ")
        }
    }

    /// What the user can do about it.
    package var advice: String {
        switch self {
        case .unreadable(let variable, _, _): "correct or unset \(variable)"
        case .notFound: "install the package ca-certificates, or set SSL_CERT_FILE"
        }
    }
}

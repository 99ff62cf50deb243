import Glibc
import OutletTLS
import OutletTestSupport
import Testing

@Suite struct `Certificate authorities` {
    @Test func `a variable with an unreadable path is an error`() {
        #expect(
            throws: TrustStoreError.unreadable(
                variable: "SSL_CERT_FILE", path: "/nonexistent.pem",
                reason: "No such file or directory")
        ) {
            try TrustStore.find(environment: ["SSL_CERT_FILE": "/nonexistent.pem"])
        }
    }

    @Test(arguments: ["CURL_CA_BUNDLE", "SSL_CERT_FILE"])
    func `a variable with the path of a named pipe is an error`(variable: String) throws {
        let directory = try TemporaryDirectory()
        let pipe = directory.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(
            throws: TrustStoreError.unreadable(
                variable: variable, path: pipe, reason: "it is a named pipe, not a plain file")
        ) {
            try TrustStore.find(environment: [variable: pipe])
        }
        #expect(throws: TrustStoreError.notFound(places: [pipe])) {
            try TrustStore.find(environment: [:], directories: [], bundles: [pipe])
        }
    }

    @Test(arguments: ["0a1b2c3d.0", "0a1b2c3d.r1"])
    func `a directory with a named pipe that OpenSSL would read is an error`(name: String) throws {
        let directory = try TemporaryDirectory()
        let pipe = directory.path(name)
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(
            throws: TrustStoreError.unreadable(
                variable: "SSL_CERT_DIR", path: directory.path,
                reason: "\(pipe) is a named pipe, not a plain file")
        ) {
            try TrustStore.find(environment: ["SSL_CERT_DIR": directory.path])
        }
    }

    @Test func `a named pipe that OpenSSL does not read is ignored`() throws {
        let directory = try TemporaryDirectory()
        for name in ["pipe", "0a1b2c3d", "0a1b2c3d.pem", "0A1B2C3D.0"] {
            try #require(mkfifo(directory.path(name), 0o600) == 0)
        }
        let store = try TrustStore.find(environment: ["SSL_CERT_DIR": directory.path])
        #expect(store.directory == directory.path)
    }

    @Test func `the error of a system without authorities lists the searched paths`() throws {
        let directory = try TemporaryDirectory()
        let error = #expect(throws: TrustStoreError.self) {
            try TrustStore.find(
                environment: [:], directories: [directory.path], bundles: [directory.path("none")])
        }
        #expect(error?.description.contains(directory.path("none")) == true)
        #expect(error?.advice.contains("ca-certificates") == true)
    }

    @Test func `CURL_CA_BUNDLE has precedence over the other variables`() throws {
        let directory = try TemporaryDirectory()
        let bundle = try directory.write("", to: "a.pem")
        let store = try TrustStore.find(
            environment: ["CURL_CA_BUNDLE": bundle, "SSL_CERT_DIR": directory.path])
        #expect(store == TrustStore(bundle: bundle, source: .variables(["CURL_CA_BUNDLE"])))
        #expect("\(store)" == "\(bundle), by CURL_CA_BUNDLE")
        #expect(store.advice.contains("counts before SSL_CERT_FILE"))
    }

    @Test func `a store is described with its source`() throws {
        let directory = try TemporaryDirectory()
        let bundle = try directory.write("", to: "a.pem")
        let store = try TrustStore.find(
            environment: ["SSL_CERT_FILE": bundle, "SSL_CERT_DIR": directory.path])
        #expect("\(store)" == "\(bundle) and \(directory.path), by SSL_CERT_FILE and SSL_CERT_DIR")
        #expect("\(TrustStore(bundle: "/a.pem"))" == "/a.pem, by the program's settings")
        #expect(TrustStore(bundle: "/a.pem").advice.contains("/a.pem"))
        let system = try TrustStore.find(environment: [:], directories: [], bundles: [bundle])
        #expect("\(system)" == "\(bundle), the system's")
        #expect(system.advice.contains("SSL_CERT_FILE"))
    }

    @Test func `a hashed directory takes precedence over a bundle`() throws {
        let directory = try TemporaryDirectory()
        let bundle = try directory.write("", to: "bundle.pem")
        try directory.write("", to: "0a1b2c3d.0")
        let found = try TrustStore.find(
            environment: [:], directories: [directory.path], bundles: [bundle])
        #expect(found == TrustStore(directory: directory.path, source: .system))
    }

    @Test func `a directory without hashed names is ignored in favour of the bundle`() throws {
        let directory = try TemporaryDirectory()
        let bundle = try directory.write("", to: "ca-certificates.crt")
        let found = try TrustStore.find(
            environment: [:], directories: [directory.path], bundles: [bundle])
        #expect(found == TrustStore(bundle: bundle, source: .system))
    }

    @Test func `of several directories at least one must be readable`() throws {
        let directory = try TemporaryDirectory()
        let missing = directory.path("missing")
        for list in ["\(directory.path):/etc/ssl/certs", "\(missing):\(directory.path)"] {
            #expect(try TrustStore.find(environment: ["SSL_CERT_DIR": list]).directory == list)
        }
        #expect(
            throws: TrustStoreError.unreadable(
                variable: "SSL_CERT_DIR", path: "\(missing):\(missing)",
                reason: "No such file or directory")
        ) {
            try TrustStore.find(environment: ["SSL_CERT_DIR": "\(missing):\(missing)"])
        }
        try #require(mkfifo(directory.path("0a1b2c3d.0"), 0o600) == 0)
        #expect(throws: TrustStoreError.self) {
            try TrustStore.find(environment: ["SSL_CERT_DIR": "/etc/ssl/certs:\(directory.path)"])
        }
    }
}

import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// The sample `HMACSigner`.
@Suite(.timeLimit(.minutes(2 * patience))) struct HMACSignerTests {
    private let plugin = SamplePlugin(name: "hmac-signer")
    private let settings = #""key_id": "key-1", "secret": "a shared secret""#

    private func answering() throws -> ScriptedServer {
        try ScriptedServer.start(.request, .respond(body: "hello"))
    }

    /// Verifies the signature of a received request, only with `openssl` and the rules
    /// of RFC 9421.
    private struct Verifier {
        let request: ScriptedServer.Request
        var scheme = "http"

        var lines: [Substring] { request.head.split(separator: "\r\n") }

        func values(_ name: String) -> [String] {
            lines.dropFirst().compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name else { return nil }
                return parts[1].trimmingPrefix(" ").description
            }
        }

        private func value(of component: String) -> String {
            let words = lines[0].split(separator: " ")
            let target = words[1].split(
                separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            return switch component {
            case "@method": String(words[0])
            case "@authority": values("host")[0]
            case "@scheme": scheme
            case "@path": String(target[0])
            case "@query": "?" + (target.count > 1 ? target[1] : "")
            case "@target-uri": "\(scheme)://\(values("host")[0])\(words[1])"
            default: values(component).joined(separator: ", ")
            }
        }

        /// The signed components in order, and the complete signature base.
        func base(label: String) throws -> (components: [String], text: String) {
            let input = try #require(values("signature-input").last { $0.hasPrefix("\(label)=(") })
            let parameters = String(input.dropFirst(label.count + 1))
            let list = try #require(parameters.split(separator: ")").first).dropFirst()
            let components = list.split(separator: " ").map { $0.filter { $0 != "\"" } }
            let text =
                components.map { "\"\($0)\": \(value(of: $0))\n" }.joined()
                + "\"@signature-params\": \(parameters)"
            return (components, text)
        }

        /// The signed components; fails unless the signature and the digest are correct.
        func components(
            secret: String = "a shared secret", label: String = "sig1"
        ) async throws -> [String] {
            let (components, text) = try base(label: label)
            let mac = try await openssl(
                ["-mac", "HMAC", "-macopt", "hexkey:\(secret.utf8.hexadecimal)"], Array(text.utf8))
            #expect(values("signature").last == "\(label)=:\(mac):", "\(text)")
            if components.contains("content-digest") {
                let digest = try await openssl([], request.body)
                #expect(values("content-digest") == ["sha-256=:\(digest):"])
            }
            return components
        }

        private func openssl(_ arguments: [String], _ bytes: [UInt8]) async throws -> String {
            let result = try await Program.run(
                "/usr/bin/env", ["openssl", "dgst", "-sha256", "-binary"] + arguments,
                standardInput: bytes)
            return Data(result.standardOutput).base64EncodedString()
        }
    }

    // MARK: RFC 9421

    @Test func `the signature equals the example in RFC 9421 B.2.5`() async throws {
        let output = try await SamplePlugin.run(
            """
            #include "signature_base.h"
            #include <openssl/evp.h>
            #include <openssl/hmac.h>
            int main(void) {
                const outlet_field fields[] = {
                    {outlet_text("Host"), outlet_text("example.com")},
                    {outlet_text("Date"), outlet_text("Tue, 20 Apr 2021 02:07:55 GMT")},
                    {outlet_text("Content-Type"), outlet_text("application/json")},
                    {outlet_text("Content-Length"), outlet_text("18")}};
                const char *const components[] = {"date", "@authority", "content-type"};
                static const char secret[] =
                    "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==";
                struct message message = {
                    .method = outlet_text("POST"),
                    .url = outlet_text("https://example.com/foo?param=Value&Pet=dog"),
                    .fields = fields, .field_count = 4};
                struct text base = {0}, parameters = {0};
                unsigned char key[96], mac[EVP_MAX_MD_SIZE], encoded[64];
                unsigned length = 0;
                EVP_DecodeBlock(key, (const unsigned char *)secret, (int)strlen(secret));
                read_authority(&message, fields[0].value);
                make_signature_base(&message, components, 3, 1618884473, "test-shared-secret", NULL,
                                    &base, &parameters);
                HMAC(EVP_sha256(), key, 64, (const unsigned char *)base.bytes, base.length, mac, &length);
                EVP_EncodeBlock(encoded, mac, (int)length);
                printf("%.*s\\n%.*s\\n%s\\n", (int)parameters.length, parameters.bytes, (int)base.length,
                       base.bytes, encoded);
            }
            """, including: "HMACSigner", flags: ["-lcrypto"])
        #expect(
            output == """
                ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"
                "date": Tue, 20 Apr 2021 02:07:55 GMT
                "@authority": example.com
                "content-type": application/json
                "@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"
                pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=

                """)
    }

    // MARK: On the wire

    private static let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 * 7) })

    @Test(arguments: ["none", "data", "file", "stream"])
    func `a request is signed with its body from memory, a file or a stream`(kind: String)
        async throws
    {
        let server = try answering()
        let session = try plugin.session("{\(settings)}")
        let directory = try TemporaryDirectory()
        var request = HTTPRequest(
            url: URL(string: "\(server.baseURL)/a/b?c=d&e"), method: kind == "none" ? .get : .put)
        request.headers = ["Content-Type": "application/x-test"]
        switch kind {
        case "data": request.body = .data(Self.bytes)
        case "file": request.body = .file(path: try directory.write(Array(Self.bytes), to: "body"))
        case "stream": request.body = .stream(PatternStream(Self.bytes))
        default: break
        }
        let before = Int(Date.now.timeIntervalSince1970)
        #expect(await session.response(to: request).value == "hello")
        let verifier = Verifier(request: try await server.requests.values(1)[0])
        #expect(verifier.request.body.count == (kind == "none" ? 0 : Self.bytes.count))
        #expect(
            try await verifier.components() == [
                "@method", "@target-uri", "content-type", "content-digest",
            ])
        let input = try #require(verifier.values("signature-input").first)
        #expect(input.hasSuffix(#";keyid="key-1";alg="hmac-sha256""#))
        let created = input.split(separator: ";").first { $0.hasPrefix("created=") }?.dropFirst(8)
        let time = try #require(created.flatMap { Int($0) })
        // The coarse clock of time(2) may be a tick behind.
        #expect((before - 1...Int(Date.now.timeIntervalSince1970)).contains(time))
    }

    @Test(arguments: [
        "/", "", "/a/./b/../c", "/a/%2e%2E/b", "/a/..", "/..", "//a//../b/", "/a%20b/%C3%A4",
        "/...",
        "?x", "?", "/a?b?c=/../d", "/a#f", "/a?b#f?g",
    ])
    func `the signed URL components equal the sent URL`(path: String) async throws {
        let server = try answering()
        let session = try plugin.session(
            #"{\#(settings), "components": ["@target-uri", "@path", "@query", "@authority", "@scheme"]}"#
        )
        let response = await session.response(to: server.baseURL + path)
        #expect(response.value == "hello")
        let verifier = Verifier(request: try await server.requests.values(1)[0])
        #expect(try await verifier.components().count == 5, "\(verifier.lines[0])")
    }

    @Test func `fields are signed as they are sent, and missing fields are left out`()
        async throws
    {
        let server = try answering()
        let session = try plugin.session(
            #"""
            {\#(settings), "label": "*mine-2", "components":
             ["X-Twice", "cookie", "HOST", "user-agent", "content-length", "x-empty"]}
            """#)
        var request = HTTPRequest(url: URL(string: server.baseURL), method: .post)
        request.headers = ["X-Empty": ""]
        request.headers.append(name: "X-Twice", value: "one, two")
        request.headers.append(name: "x-twice", value: "three")
        request.headers.append(name: "Signature", value: "other=:AAAA:")
        let response = await session.response(to: request)
        #expect(response.value == "hello", "\(response.error.map { "\($0)" } ?? "")")
        let verifier = Verifier(request: try await server.requests.values(1)[0])
        #expect(
            try await verifier.components(label: "*mine-2") == [
                "x-twice", "host", "user-agent", "content-length", "x-empty",
            ])
        #expect(verifier.values("signature").count == 2)
        #expect(verifier.values("content-digest") == [])
    }

    @Test func `each hop of a redirect is signed separately, and other hosts are not signed`()
        async throws
    {
        let other = try answering()
        let next = try ScriptedServer.start(
            .request, .respond("302 Found", headers: ["Location: \(other.baseURL)/"]))
        let server = try ScriptedServer.start(
            .request,
            .respond("302 Found", headers: ["Location: http://127.0.0.1:\(next.port)/next"]))
        let session = try plugin.session(
            #"{\#(settings), "hosts": ["127.0.0.1:\#(server.port)", "127.0.0.1:\#(next.port)"]}"#)
        #expect(await session.response(to: server.baseURL).value == "hello")
        for server in [server, next] {
            let verifier = Verifier(request: try await server.requests.values(1)[0])
            #expect(try await verifier.components().contains("@target-uri"))
            #expect(verifier.values("signature").count == 1)
        }
        let unsigned = Verifier(request: try await other.requests.values(1)[0])
        #expect(unsigned.values("signature") == [] && unsigned.values("signature-input") == [])
        #expect(unsigned.values("content-digest") == [])
    }

    @Test(arguments: [("127.1:PORT", "127.0.0.1"), ("LOCALHOST.:PORT", "localhost")])
    func `hosts are compared in canonical form`(listed: String, host: String) async throws {
        let server = try answering()
        let list = listed.replacing("PORT", with: "\(server.port)")
        let session = try plugin.session(#"{\#(settings), "hosts": ["\#(list)"]}"#)
        #expect(await session.response(to: "http://\(host):\(server.port)/").value == "hello")
        let verifier = Verifier(request: try await server.requests.values(1)[0])
        #expect(verifier.values("signature").count == 1)
    }

    @Test func `a listed host is compared with the URL, the Host field and their ports`()
        async throws
    {
        // The host of `hosts`, the URL, the Host field, and what `signs_for` returns.
        let cases = [
            ("a.test", "http://a.test/", "a.test", 1), ("a.test.", "http://a.test/", "a.test", 1),
            ("a.test", "http://A.test./", "A.test.", 1),
            ("a.test:80", "http://a.test/x", "a.test", 1),
            ("a.test:80", "https://a.test/", "a.test", 0),
            ("a.test:443", "wss://a.test?x", "a.test", 1),
            ("a.test", "http://a.test:80/", "a.test:80", 1),
            ("a.test", "http://a.test:8080/", "a.test:8080", 0),
            ("127.1", "http://0x7f.1/", "127.0.0.1", 1),
            ("[0::1]:81", "http://[::1]:81/", "[::1]:81", 1),
            ("a.test", "http://user:pw@a.test/", "a.test", 1),
            ("a.test", "http://%61.test/", "a.test", 1),
            ("a.test", "http://other.test/", "a.test", 0),
            ("a.test", "http://a.test/", "other.test", 0),
            ("a.test", "http://a.test:81/", "a.test", 0),
            ("a.test", "http://a.test@b.test/", "a.test", 0),
            ("a.test", "http://b.test\\\\@a.test/", "a.test", -1),
        ]
        let rows = cases.map { "{\"\($0.0)\", \"\($0.1)\", \"\($0.2)\"}" }
        let output = try await SamplePlugin.run(
            """
            #include "hmac_signer.c"
            int main(void) {
                static const char *const cases[][3] = {\(rows.joined(separator: ",\n"))};
                for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                    static struct outlet_instance self;
                    self.host_count = 1;
                    if (read_server(cases[i][0], strlen(cases[i][0]), &self.hosts[0])) return 1;
                    printf("%d ", signs_for(&self, outlet_text(cases[i][1]), outlet_text(cases[i][2])));
                }
            }
            """, including: "HMACSigner", flags: ["-lcrypto"])
        #expect(output == cases.map { "\($0.3) " }.joined())
    }

    @Test func `a request to another server is not signed because of its Host field`()
        async throws
    {
        let server = try answering()
        let session = try plugin.session(#"{\#(settings), "hosts": ["api.example.com"]}"#)
        let response = await session.response(
            to: server.baseURL, headers: ["Host": "api.example.com"])
        #expect(response.value == "hello")
        let verifier = Verifier(request: try await server.requests.values(1)[0])
        #expect(verifier.values("signature") == [] && verifier.values("content-digest") == [])
    }

    @Test(arguments: [
        ("Signature", #"other=:AAAA:, sig1=:AAAA:"#, true),
        ("Signature-Input", #"sig1=("@path");keyid="a""#, true),
        ("Signature-Input", #"sig2=("@path");keyid="a, sig1=\", sig1=""#, false),
        ("Signature", "sig10=:AAAA:", false),
    ])
    func `a second signature with the same label is an error`(
        name: String, value: String, isRefused: Bool
    ) async throws {
        let server = try answering()
        let session = try plugin.session("{\(settings)}")
        let response = await session.response(to: server.baseURL, headers: [name: value])
        let error = response.error?.pluginError
        #expect(error?.code == (isRefused ? "label-exists" : nil))
        #expect(error?.message.contains("\"sig1\"") == (isRefused ? true : nil))
        #expect(server.connections.count == (isRefused ? 0 : 1))
    }

    @Test func `fields from earlier plugins are signed`() async throws {
        let server = try answering()
        let host = try plugin.host(
            #"{\#(settings), "components": ["x-signature", "x-request-id"]}"#,
            others: ["libFaultyWire.so", "librequest-id.so"],
            othersConfiguration: ["faulty.wire": #"{"finalize": "sign"}"#])
        #expect(host.plugins.map(\.id).last == "dev.outlet.hmac-signer")
        let session = PluginSession(host)
        #expect(await session.response(to: server.baseURL).value == "hello")
        let verifier = Verifier(request: try await server.requests.values(1)[0])
        #expect(try await verifier.components() == ["x-signature", "x-request-id"])
    }

    @Test func `a signed field that is not ASCII is an error`() async throws {
        let server = try answering()
        let session = try plugin.session(#"{\#(settings), "components": ["x-name"]}"#)
        let response = await session.response(to: server.baseURL, headers: ["X-Name": "Ärger"])
        #expect(response.error?.pluginError?.code == "not-ascii")
        #expect(server.connections.count == 0)
    }

    // MARK: Keys

    @Test(arguments: [
        ("a key\n", "a key", "text"), ("a key\r\n", "a key", "text"), ("a key", "a key", "text"),
        ("a key\n\n", "a key\n", "text"), ("YSBrZXk=\n", "a key", "base64"),
        ("YSBrZXlz", "a keys", "base64"), ("AA==", "\0", "base64"),
    ])
    func `the key may be in a file`(content: String, secret: String, encoding: String) async throws
    {
        let directory = try TemporaryDirectory()
        let file = try directory.write(content, to: "key")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let server = try answering()
        let session = try plugin.session(
            #"{"key_id": "k\"\\", "secret_file": "\#(file)", "secret_encoding": "\#(encoding)"}"#)
        #expect(await session.response(to: server.baseURL).value == "hello")
        let verifier = Verifier(request: try await server.requests.values(1)[0])
        #expect(try await verifier.components(secret: secret).isEmpty == false)
    }

    @Test(arguments: [
        (0o604, "is open to other users"), (0o620, "is open to other users"), (0o640, nil),
    ])
    func `a key that others can read is refused`(mode: Int, problem: String?) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("classified", to: "key")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        let refusal = plugin.refusal(of: #"{"key_id": "k", "secret_file": "\#(file)"}"#)
        #expect(refusal == nil ? problem == nil : refusal?.contains(problem ?? "?") == true)
        #expect(refusal?.contains("classified") != true)
    }

    @Test func `a key file that is not a regular file, too long or empty is refused`() throws {
        let directory = try TemporaryDirectory()
        func refusal(_ path: String) -> String {
            plugin.refusal(of: #"{"key_id": "k", "secret_file": "\#(path)"}"#) ?? "it started"
        }
        let long = try directory.write(String(repeating: "x", count: 4096), to: "long")
        let empty = try directory.write("\n", to: "empty")
        for file in [long, empty] {
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        }
        #expect(refusal(directory.path).contains("\"secret_file\": not a regular file"))
        #expect(refusal("/dev/zero").contains("\"secret_file\": not a regular file"))
        #expect(refusal(directory.path("none")).contains("\"secret_file\": there is no such file"))
        #expect(refusal("key").contains("/secret_file: "))
        #expect(refusal(long).contains("\"secret_file\": the file is too long"))
        #expect(refusal(empty).contains("\"secret_file\": the key is empty"))
    }

    // MARK: Configuration

    @Test(arguments: [
        (#"{"secret": "hidden"}"#, "'key_id'"),
        (#"{"key_id": "", "secret": "hidden"}"#, "/key_id: "),
        (#"{"key_id": "ä", "secret": "hidden"}"#, "/key_id: "),
        (#"{"key_id": "k"}"#, "\"secret\", \"secret_file\": one of both"),
        (
            #"{"key_id": "k", "secret": "hidden", "secret_file": "/k"}"#,
            "\"secret\", \"secret_file\": one"
        ),
        (#"{"key_id": "k", "secret": ""}"#, "/secret: "),
        (
            #"{"key_id": "k", "secret": "hidden!!", "secret_encoding": "base64"}"#,
            "\"secret\": not base64"
        ),
        (#"{"key_id": "k", "secret": "hidden", "secret_encoding": "hex"}"#, "/secret_encoding: "),
        (#"{"key_id": "k", "secret": "hidden", "label": "Sig"}"#, "/label: "),
        (#"{"key_id": "k", "secret": "hidden", "label": "1a"}"#, "/label: "),
        (#"{"key_id": "k", "secret": "hidden", "components": []}"#, "/components: "),
        (
            #"{"key_id": "k", "secret": "hidden", "components": "@path"}"#,
            "/components: "
        ),
        (
            #"{"key_id": "k", "secret": "hidden", "components": ["@status"]}"#,
            "/components/0: "
        ),
        (
            #"{"key_id": "k", "secret": "hidden", "components": ["a", "b c"]}"#,
            "/components/1: "
        ),
        (
            #"{"key_id": "k", "secret": "hidden", "components": ["a", "A"]}"#,
            "\"components\": element 2 is there"
        ),
        (
            #"{"key_id": "k", "secret": "hidden", "hosts": ["http://a.test"]}"#,
            "/hosts/0: "
        ),
        (#"{"key_id": "k", "secret": "hidden", "hosts": ["a.test:0"]}"#, "(a.test:0): its port"),
        (
            #"{"key_id": "k", "secret": "hidden", "hosts": ["b.test", "a..test"]}"#,
            "\"hosts\": element 2 (a..test): its host has an empty label"
        ),
        (#"{"key_id": "k", "secret": "hidden", "hosts": ["1.2.3.4.5"]}"#, "not an IPv4 address"),
        (#"{"key_id": "k", "secret": "hidden", "hosts": ["[::1"]}"#, "has one bracket"),
        (
            #"{"key_id": "k", "secret": "hidden", "keyid": "k"}"#,
            "'keyid'"
        ),
    ])
    func `the error of an invalid configuration names the setting`(
        configuration: String, words: String
    ) {
        let refusal = plugin.refusal(of: configuration)
        #expect(refusal?.contains(words) == true, "\(refusal ?? "it started")")
        #expect(refusal?.contains("hidden") == false)
    }
}

extension String.UTF8View {
    /// Two digits for each byte.
    fileprivate var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// A body that is read once, or again from its start.
private final class PatternStream: BodyStream {
    private let bytes: Data
    private let position = Lock(0)

    init(_ bytes: Data) { self.bytes = bytes }

    var length: Int64? { Int64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        position.withLock { position in
            let count = min(buffer.count, bytes.count - position)
            bytes.copyBytes(
                to: buffer.bindMemory(to: UInt8.self), from: position..<position + count)
            position += count
            return count
        }
    }

    func rewind() throws { position.withLock { $0 = 0 } }
}

import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// The options and variables for proxies, sockets, DNS and TLS.
@Suite struct NetworkTests {
    @Test func `the proxy of the environment is used and shown without its password`() async throws
    {
        let proxy = try ScriptedServer.start(.request, .respond(body: "by proxy"), .again)
        let result = try await outlet(
            "-v", "http://example.invalid/x",
            environment: ["http_proxy": "http://me:geheim@127.0.0.1:\(proxy.port)"])
        #expect(result.exitCode == 0)
        #expect(result.output.contains("by proxy"))
        #expect(!result.output.contains("geheim"))
        #expect(result.output.contains("proxy       http://127.0.0.1:\(proxy.port)"))
        let head = try await proxy.requests.values(1)[0].head
        #expect(head.hasPrefix("GET http://example.invalid/x HTTP/1.1\r\n"))
    }

    @Test func `the option --proxy overrides the proxy of the environment`() async throws {
        let proxy = try ScriptedServer.start(.request, .respond(body: "by proxy"), .again)
        let result = try await outlet(
            "--proxy", "127.0.0.1:\(proxy.port)", "http://example.invalid/",
            environment: ["http_proxy": "http://127.0.0.1:1"])
        #expect(result.output == "by proxy")
        let direct = try ScriptedServer.start(.request, .respond(body: "direct"), .again)
        let none = try await outlet(
            "--proxy=none", direct.baseURL, environment: ["http_proxy": "http://127.0.0.1:1"])
        #expect(none.output == "direct")
    }

    @Test(arguments: [
        ("http://me:my geheim@p:1", "http://p:1"), ("p:99999", "p:99999"),
        ("ftp://p:1", "ftp://p:1"),
    ])
    func `an option --proxy that is not the address of a proxy is a wrong command line`(
        address: String, shown: String
    ) async throws {
        let result = try await outlet("--proxy", address, "http://example.invalid/")
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.hasPrefix("outlet: --proxy: \(shown): it"))
        #expect(!result.errorOutput.contains("geheim"))
    }

    @Test func `an internationalized host is sent in its ASCII form in any locale`()
        async throws
    {
        let proxy = try ScriptedServer.start(.request, .respond(body: "by proxy"), .again)
        let result = try await outlet(
            "-v", "--proxy", "127.0.0.1:\(proxy.port)", "http://bücher.example/x",
            environment: ["LC_ALL": "C"])
        #expect(result.exitCode == 0)
        #expect(result.output.contains("Host: xn--bcher-kva.example\n"))
        let head = try await proxy.requests.values(1)[0].head
        #expect(head.hasPrefix("GET http://xn--bcher-kva.example/x HTTP/1.1\r\n"))
        #expect(head.contains("\r\nHost: xn--bcher-kva.example\r\n"))
    }

    @Test func `the error for an unusable proxy names it without its password`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let result = try await outlet(
            "-v", server.baseURL,
            environment: [
                "http_proxy": "gopher://me:geh@eim@127.0.0.1:1", "OUTLET_DEBUG": "1",
            ])
        #expect(result.exitCode != 0)
        let text = result.output + result.errorOutput
        #expect(!text.contains("geh") && !text.contains("eim"), "\(text)")
        #expect(text.contains("gopher"), "\(text)")
    }

    @Test func `the option --unix-socket connects to a Unix socket`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        let server = try ScriptedServer.start(
            at: .unix(path: path), .request, .respond(body: "by socket"), .again)
        let result = try await outlet("--unix-socket", path, "http://docker/version")
        #expect(result.output == "by socket")
        let head = try await server.requests.values(1)[0].head
        #expect(head.contains("Host: docker\r\n"))

        let unheard = try directory.write("", to: String(repeating: "x", count: 100))
        let refused = try await outlet("--unix-socket", unheard, "http://docker/version")
        #expect(refused.exitCode == 64)
        let fault = "--unix-socket: a path of \(unheard.utf8.count) bytes"
        #expect(refused.errorOutput.contains(fault), "\(refused.errorOutput)")
    }

    @Test func `a certificate is verified, by default or with a given CA bundle`() async throws {
        let nginx = try await Nginx.shared()
        let url = "https://localhost:\(nginx.port(.tls))/small.txt"
        let refused = try await outlet(url)
        #expect(refused.exitCode == 1)
        #expect(refused.errorOutput.split(separator: "\n").count == 1)

        let bundle = nginx.authority.certificatePath
        for options in [["--cacert", bundle], ["--verify", bundle], ["--verify=no"]] {
            let result = try await Program.run(Products.path("outlet"), options + ["-v", url])
            #expect(result.exitCode == 0, "\(result.errorOutput)")
            #expect(result.output.contains("TLS         TLSv1."))
            let authority = options == ["--verify=no"] ? "not verified" : bundle
            #expect(result.output.contains("CA          \(authority)"))
        }
    }

    @Test func `a server without HTTP/2 is reported with an advice`() async throws {
        let server = try ScriptedServer.start(.request)
        let result = try await outlet("--http-version=2", server.baseURL)
        #expect(result.exitCode == 1)
        #expect(
            result.errorOutput.contains(
                "(check that the server speaks HTTP/2 without negotiation, or change "
                    + "--http-version)"), "\(result.errorOutput)")
    }

    @Test(arguments: ["--proxy=http://127.0.0.1:1", "--interface=lo", "--resolve=a:80:127.0.0.1"])
    func `options that a Unix socket leaves without effect are refused`(option: String) async throws
    {
        let result = try await outlet("--unix-socket", "/dev/null", option, "http://a/")
        #expect(result.exitCode == 64)
        let name = option.prefix { $0 != "=" }
        #expect(result.errorOutput.contains("\(name): of no use with --unix-socket"))
    }

    @Test(arguments: ["no", "/dev/null"])
    func `--cacert and another choice of --verify contradict each other`(choice: String)
        async throws
    {
        let result = try await outlet(
            "--verify", choice, "--cacert", "/dev/null", "https://127.0.0.1:1/")
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains("--cacert: contradicts --verify=\(choice)"))
    }

    @Test(arguments: [
        ("http_proxy", "http://127.0.0.1:1/"), ("NO_PROXY", "http://127.0.0.1:1/"),
        ("OUTLET_DEBUG", "http://127.0.0.1:1/"), ("SSL_CERT_FILE", "https://127.0.0.1:1/"),
        ("OUTLET_PLUGIN_PATH", "http://127.0.0.1:1/"),
    ])
    func `an environment variable that is not UTF-8 is refused by name`(
        variable: String, address: String
    ) async throws {
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", "\(variable)=$(printf '/\\377') exec \"$0\" \"$1\"",
                Products.path("outlet"), address,
            ])
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains("\(variable): the variable's value is not UTF-8"))
    }

    @Test func `with OUTLET_DEBUG the wire is logged without secrets`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let result = try await outlet(
            "-a", "u:geheim", server.baseURL, environment: ["OUTLET_DEBUG": "1"])
        #expect(result.output == "x")
        #expect(result.errorOutput.contains("GET / HTTP/1.1"))
        #expect(!result.errorOutput.contains("dTpnZWhlaW0="))
    }

    @Test func `the variable SSLKEYLOGFILE has no effect`() async throws {
        let nginx = try await Nginx.shared()
        let directory = try TemporaryDirectory()
        let result = try await outlet(
            "--cacert", nginx.authority.certificatePath, "\(nginx.baseURL(.tls))/small.txt",
            environment: ["SSLKEYLOGFILE": directory.path("keys")])
        #expect(result.exitCode == 0)
        #expect(!FileManager.default.fileExists(atPath: directory.path("keys")))
    }

    @Test func `the options --resolve and --interface set the remote and local address`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .respond(body: "here"), .again)
        let url = "http://api.example.test:\(server.port)/"
        let result = try await outlet(
            "--resolve", "api.example.test:\(server.port):[::2],127.0.0.1", "--interface",
            "127.0.0.7",
            "--json", url)
        #expect(result.exitCode == 0, "\(result.errorOutput)")
        #expect(result.output.contains("here"))
        #expect(result.output.contains(#"127.0.0.7:"#))
        let byName = try await outlet("--interface", "lo", server.baseURL)
        #expect(byName.output == "here", "\(byName.errorOutput)")
        let unknown = try await outlet("--interface", "no-such-one0", server.baseURL)
        #expect(unknown.exitCode == 1)
        #expect(unknown.errorOutput.contains("--interface: no connection can come from it: "))
        #expect(unknown.errorOutput.contains("no-such-one0"))
    }

    @Test func `the options --tls-min and --ciphers set the TLS version and ciphers`() async throws
    {
        let server = try await HandshakePeer.start()
        let authority = try await TestCA.shared().certificatePath
        let options = ["--cacert", authority, "-v"]
        let refused = try await Program.run(
            Products.path("outlet"), options + ["--tls-min=1.3", server.baseURL(.tls12)])
        #expect(refused.exitCode == 1)
        #expect(refused.errorOutput.contains("supports what --tls-min (1.3) allows)"))
        let chosen = try await Program.run(
            Products.path("outlet"),
            options + ["--tls-min=1.2", "--ciphers=ECDHE+AESGCM+AES128", server.baseURL(.tls12)])
        #expect(chosen.exitCode == 0)
        #expect(chosen.output.contains("AES128-GCM"))
        await server.stop()
    }

    @Test(arguments: [
        ("--resolve=api.test:80", "--resolve: api.test:80: not of the form HOST:PORT:ADDRESS"),
        ("--resolve=[::1]:80:::2", "--resolve: [::1]:80:::2: an IP address is not looked up"),
        (
            "--resolve=api.test:80:host",
            #"--resolve: "host", for "api.test:80", is no IPv4 or IPv6"#
        ),
        ("--interface=a b", #"--interface: "a b" is no name of an interface"#),
        ("--ciphers=NONE-SUCH", #"--ciphers: "NONE-SUCH" is no cipher that OpenSSL knows"#),
        ("--tls-min=1.4", "--tls-min: not one of 1.0, 1.1, 1.2, 1.3 (see"),
    ])
    func `an invalid connection option exits with 64`(option: String, text: String) async throws {
        let result = try await outlet(option, "http://127.0.0.1:1/")
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains(text), "\(result.errorOutput)")
    }
}

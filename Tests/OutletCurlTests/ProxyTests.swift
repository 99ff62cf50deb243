import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletCurl
@testable import OutletTransport

@Suite struct `The choice of the proxy` {
    private func resolve(
        _ environment: [String: String], host: String = "example.org", port: Int = 80,
        isSecure: Bool = false
    ) throws -> String {
        let url = try #require(URL(string: "\(isSecure ? "https" : "http")://\(host):\(port)/"))
        return try ProxyResolver(.environment, environment: environment).proxy(
            for: try Origin(url))
    }

    @Test func `the variable of the scheme takes precedence over all_proxy`() throws {
        let environment = ["http_proxy": "http://a:1", "all_proxy": "http://b:2"]
        #expect(try resolve(environment) == "http://a:1")
        #expect(try resolve(environment, isSecure: true) == "http://b:2")
        #expect(try resolve(["HTTPS_PROXY": "http://c:3"], isSecure: true) == "http://c:3")
        #expect(try resolve([:]) == "")
    }

    @Test func `HTTP_PROXY in capital letters is ignored`() throws {
        #expect(try resolve(["HTTP_PROXY": "http://evil:1"]) == "")
    }

    @Test(arguments: [
        ("http://me:my secret@p:1", "a blank"), ("http://me:secret\n@p:1", "a control character"),
        ("me:secret@p:99999", "its port"), ("me:secret@p:", "its port"),
        ("http://me:secret@[::1:80", "its host"),
        ("http://me:secret@a:b:80", "its host"), ("http://me:secret@[::1]x:9", "its host"),
        ("http://me:secret@p{q:80", "its host"),
        ("http://me:secret@p:1x/", "its port"), ("me:secret@[::1]:0", "its port"),
        ("ftp://me:secret@p:1", "its scheme"), ("http://me:secret@", "no host"),
        ("http://me:secret@:1", "no host"), ("http://me:secret", "'@' and the proxy's host"),
        ("me:secret", "'@' and the proxy's host"), ("http://me:se cret", "a blank"),
        ("ftp://me:secret/x", "its scheme"), ("http://me:1:secret", "its port"),
    ])
    func `an address that is not that of a proxy is refused without its password`(
        address: String, fact: String
    ) async throws {
        #expect(throws: TransferError.self) { try resolve(["http_proxy": address]) }
        #expect(try resolve(["http_proxy": address, "no_proxy": "*"]) == "")
        let transport = CurlTransport.test { $0.proxy = .url(address, except: []) }
        let error = try #require(try await transport.get("http://far.invalid/x").error)
        #expect(error.code == .badConfiguration)
        #expect(error.reason.contains(fact) && !"\(error)".contains("secret"))
    }

    @Test(arguments: [
        "p", "p:1", "http://p", "https://u:p@p:65535/", "SOCKS5H://[::1]:1080", "socks5://p",
        "http://p:",
        "[::1]", "http://u@v:p@q:80/path",
    ])
    func `the usual forms of a proxy's address are accepted`(address: String) throws {
        #expect(try resolve(["http_proxy": address]) == address)
    }

    @Test func `a proxy's international name gets its ASCII form`() throws {
        let address = "http://m\u{E9}:pw@b\u{FC}cher.example:1/x"
        #expect(
            try resolve(["http_proxy": address]) == "http://m\u{E9}:pw@xn--bcher-kva.example:1/x")
    }

    @Test(arguments: [
        ("*", "example.org", true), ("example.org", "example.org", true),
        ("example.org", "www.example.org", true), (".example.org", "www.example.org", true),
        ("*.example.org", "www.example.org", true), ("example.org", "badexample.org", false),
        ("EXAMPLE.org", "Example.ORG", true), ("example.org", "example.org.", true),
        ("a.test, example.org", "example.org", true), ("a.test example.org", "example.org", true),
        ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.1.2.3", false),
        ("192.168.16.0/20", "192.168.31.9", true), ("192.168.16.0/20", "192.168.32.9", false),
        ("fd00::/8", "[fd12::1]", true), ("::1", "[::1]", true),
        ("127.0.0.1", "127.0.0.1", true), ("example.org:80", "example.org", true),
        ("example.org:81", "example.org", false), ("", "example.org", false),
        ("10.0.0.0/99", "10.0.0.1", false), ("example.org", "ex%61mple.org", true),
        ("10.0.0.0/8", "012.1", true), ("bücher.example", "xn--bcher-kva.example", true),
        ("fe80::/10", "[fe80::1%25lo]", true), ("fe80::1", "[fe80::1%25lo]", false),
        ("[::1]:80", "[::1]", true), ("[::1]:81", "[::1]", false),
    ])
    func `no_proxy matches names, suffixes, addresses and networks`(
        pattern: String, host: String, isDirect: Bool
    ) throws {
        let proxy = try resolve(["http_proxy": "http://p:1", "no_proxy": pattern], host: host)
        #expect(proxy == (isDirect ? "" : "http://p:1"))
    }

    @Test func `a proxy that cannot be reached is named without its password`() async throws {
        let transport = CurlTransport.test {
            $0.proxy = .url("http://me:secret@127.0.0.1:1", except: [])
        }
        for url in ["http://example.test/", "https://example.test/"] {
            let error = try await transport.get(url).error
            // As for a server, so that it is retried.
            #expect(error?.code == .cannotConnectToHost)
            #expect(
                error?.reason.hasPrefix("the proxy http://127.0.0.1:1 cannot be reached: ") == true,
                "\(error?.reason ?? "")")
            #expect(error?.advice.contains("server") == false)
        }
    }

    @Test func `a proxy that answers CONNECT without end does not hold up the loop`() async throws {
        let endless = [UInt8](repeating: 0x61, count: 64 << 20)
        let proxy = try ScriptedServer.start(
            .requestHead,
            .send(
                "HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm=a, nonce=b\r\n"
                    + "Content-Length: \(endless.count)\r\n\r\n"), .send(endless), .stall)
        let other = try ScriptedServer.start(.request, .respond(body: "other"))
        let transport = CurlTransport.test {
            $0.proxy = .url(proxy.baseURL, except: ["127.0.0.1"])
            $0.proxyCredential = Credential(user: "ada", password: "secret")
        }
        async let refused = transport.get("https://example.test/")
        _ = try await proxy.requests.values(1)
        #expect(try await transport.get(other.baseURL).text == "other")
        let error = try await refused.error
        #expect(error?.code == .proxyConnectionFailed)
        #expect(
            error?.reason == "the proxy \(proxy.baseURL) answers CONNECT without end",
            "\(error?.reason ?? "")")
    }

    @Test func `many reads in one epoch and over a second count as stuck`() {
        var watch = BusyWatch()
        var time: Int64 = 0
        func reads(_ count: Int, in epoch: UInt64 = 1) -> Bool {
            (0..<count).reduce(false) { found, _ in
                watch.isStuck(in: epoch, clock: { time }) || found
            }
        }
        #expect(!reads(2 * BusyWatch.step))
        time += BusyWatch.limit
        #expect(!reads(BusyWatch.step - 1))
        #expect(reads(1))
        #expect(!reads(BusyWatch.step, in: 2))
        time += BusyWatch.limit
        #expect(!reads(BusyWatch.step, in: 3))
    }

    @Test func `the proxy's credentials are removed for metrics and logs`() {
        #expect(ProxyAddress.withoutCredentials("http://u:p@h:1") == "http://h:1")
        #expect(ProxyAddress.withoutCredentials("u:p@h:1") == "h:1")
        #expect(ProxyAddress.withoutCredentials("http://u:p@ss@h:1") == "http://h:1")
        #expect(ProxyAddress.withoutCredentials("socks5h://h:1") == "socks5h://h:1")
    }
}

@Suite struct `A request through a proxy` {
    @Test func `the request line contains the whole URL, and the metrics contain the proxy`()
        async throws
    {
        let proxy = try ScriptedServer.start(.request, .respond(body: "from the proxy"))
        let transport = CurlTransport.test {
            $0.proxy = .url("http://me:secret@127.0.0.1:\(proxy.port)", except: [])
        }
        let result = try await transport.get("http://far.invalid/x")
        #expect(result.text == "from the proxy")
        #expect(result.metrics.proxy == "http://127.0.0.1:\(proxy.port)")
        let head = try await proxy.requests.values(1)[0].head
        #expect(head.hasPrefix("GET http://far.invalid/x HTTP/1.1\r\n"))
        #expect(head.contains("Proxy-Authorization: Basic "))
    }

    @Test func `a host in the exceptions is contacted without the proxy`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "direct"))
        let transport = CurlTransport.test {
            $0.proxy = .url("http://127.0.0.1:1", except: ["127.0.0.1"])
        }
        #expect(try await transport.get(server.baseURL).text == "direct")
    }

    @Test func `the error of a tunnel that the proxy refuses contains the status code`()
        async throws
    {
        let proxy = try ScriptedServer.start(.request, .respond("403 Forbidden"))
        let transport = CurlTransport.test {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)", except: [])
        }
        let error = try await transport.get("https://far.invalid/x").error
        #expect(error?.code == .proxyConnectionFailed)
        #expect(error?.reason.contains("403") == true)
    }

    @Test func `the errors of a proxy that was reached name it without its password`() async throws
    {
        for (scheme, answer) in [
            ("http", "HTTP/1.1 501 No\r\nContent-Length: 0\r\n\r\n"), ("socks5h", "no SOCKS"),
        ] {
            let proxy = try ScriptedServer.start(.send(answer), .stall)
            let transport = CurlTransport.test {
                $0.proxy = .url("\(scheme)://me:secret@127.0.0.1:\(proxy.port)", except: [])
            }
            let error = try await transport.get("https://far.invalid/x").error
            #expect(error?.code == .proxyConnectionFailed)
            #expect(
                error?.reason.hasPrefix("the proxy \(scheme)://127.0.0.1:\(proxy.port) failed: ")
                    == true, "\(error?.reason ?? "")")
        }
    }

    @Test func `a time limit that a proxy exceeds names it`() async throws {
        let proxy = try ScriptedServer.start(.stall)
        let transport = CurlTransport.test {
            $0.proxy = .url(proxy.baseURL, except: [])
            $0.connectTimeout = 0.2
        }
        let error = try await transport.get("https://far.invalid/x").error
        #expect(error?.code == .timedOut)
        #expect(
            error?.reason.contains(" through the proxy \(proxy.baseURL): ") == true,
            "\(error?.reason ?? "")")
    }

    @Test func `at most eight challenges to CONNECT are answered`() async throws {
        let proxy = try ScriptedServer.start(
            .answer { request in
                Array(
                    ("HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm=a, "
                        + "nonce=\(UInt64.random(in: 0 ... .max)), stale=true\r\n"
                        + "Content-Length: 0\r\n\r\n").utf8)
            }, .again)
        let transport = CurlTransport.test {
            $0.proxy = .url(proxy.baseURL, except: [])
            $0.proxyCredential = Credential(user: "ada", password: "secret", scheme: .digest)
        }
        let error = try await transport.get("https://far.invalid/x").error
        #expect(error?.code == .badServerResponse)
        #expect(
            error?.reason == "the proxy asked for credentials once more (407) after 8 answers, and "
                + "refused none of them")
        #expect(proxy.requests.values.count == 9)
    }

    @Test func `faults of the response to CONNECT are called the proxy's`() async throws {
        for (fields, reason) in [
            (
                String(repeating: "A: b\r\n", count: 3000),
                "the proxy's response has more than 2000 header fields"
            ),
            (
                "Proxy-Authenticate: Digest realm=\"\u{1}\", nonce=b\r\n",
                "the proxy's response's Proxy-Authenticate holds a control character, and would be "
                    + "sent back"
            ),
        ] {
            let proxy = try ScriptedServer.start(
                .request, .send("HTTP/1.1 407 No\r\n\(fields)Content-Length: 0\r\n\r\n"))
            let transport = CurlTransport.test { $0.proxy = .url(proxy.baseURL, except: []) }
            #expect(try await transport.get("https://far.invalid/x").error?.reason == reason)
        }
    }

    @Test func `a proxy name that does not resolve is an error`() async throws {
        let transport = CurlTransport.test { $0.proxy = .url("http://p.invalid:1", except: []) }
        let error = try await transport.get("http://far.invalid/x").error
        #expect(error?.code == .cannotFindHost)
        #expect(error?.reason.contains("proxy") == true)
        #expect(error?.advice == "check the proxy's address")
    }

    @Test func `the credential in the proxy's URL takes precedence over a stored one`() async throws
    {
        let server = try ScriptedServer.start(.request, .respond(body: "x"))
        let address = server.baseURL.replacing("http://", with: "")
        let transport = CurlTransport.test {
            $0.proxy = .url("http://ada:own@\(address)", except: [])
        }
        var answers = TransferJob.Answers()
        answers.toProxies = ["http://\(address)": Credential(user: "bob", password: "stored")]
        let job = TransferJob(
            request: HTTPRequest(url: URL(string: "http://example.test/")), delivery: .collect,
            priority: .normal, reportsProgress: false, mayRunOnCaller: false,
            answers: Boxed(answers))
        #expect(try await transport.carry(job).text == "x")
        let own = HTTPHeader.authorization(username: "ada", password: "own").value
        let head = try await server.requests.values(1)[0].head
        #expect(head.contains("Proxy-Authorization: \(own)\r\n"))
    }

    @Test(arguments: [
        "socks5h://user:pa%0Ass@", "socks4a://user:pa%00ss@", "socks5://us%1Fer:secret@",
        "http://user:100%%0apass@", "https://user:100%%09pass@",
    ])
    func `a proxy whose credential libcurl cannot decode is an error, and not left out`(
        proxy: String
    ) async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "direct"))
        let error = try await CurlTransport.test {
            $0.proxy = .url("\(proxy)127.0.0.1:1", except: [])
        }.get(server.baseURL).error
        #expect(error?.code == .badConfiguration)
        #expect(error?.reason.contains("has a control character") == true)
        #expect(server.requests.values.isEmpty)
    }

    @Test func `a colon in the user name of a SOCKS proxy, and a lone percent sign, are sent`()
        async throws
    {
        let proxy = try ScriptedServer.start(.request, .respond("200 OK", body: "x"))
        let transport = CurlTransport.test {
            $0.proxy = .url("http://user:100%@127.0.0.1:\(proxy.port)", except: [])
        }
        #expect(try await transport.get("http://far.invalid/").text == "x")
        let head = try await proxy.requests.values(1)[0].head
        #expect(head.contains("Basic \(Data("user:100%".utf8).base64EncodedString())\r\n"))
        #expect(ProxyAddress.fault(in: "socks5://us%3Aer:secret@h:1") == nil)
        #expect(ProxyAddress.fault(in: "http://us%3Aer:secret@h:1") != nil)
        #expect(ProxyAddress.fault(in: "user:secret@") == "it has no host")
    }

    @Test func `proxyCredential is sent in place of the credential in the proxy's address`()
        async throws
    {
        let proxy = try ScriptedServer.start(.request, .respond(body: "x"))
        let transport = CurlTransport.test {
            $0.proxy = .url("http://other:no@127.0.0.1:\(proxy.port)", except: [])
            $0.proxyCredential = Credential(user: "ada", password: "yes", scheme: .basic)
        }
        #expect(try await transport.get("http://far.invalid/").text == "x")
        let head = try await proxy.requests.values(1)[0].head
        #expect(head.contains("Basic \(Data("ada:yes".utf8).base64EncodedString())\r\n"))
    }

    @Test func `a proxy's international name is looked up in its ASCII form`() async throws {
        let error = try await CurlTransport.test {
            $0.proxy = .url("http://me:secret@bücher.invalid:3128", except: [])
        }.get("http://far.invalid/").error
        #expect(
            error?.reason.contains("resolve proxy: xn--bcher-kva.invalid") == true,
            "\(error?.reason ?? "")")
        let refused = ProxyAddress.fault(in: "http://\u{200E}:1")
        #expect(refused?.contains("its host has no form that DNS knows") == true)
    }

    @Test(arguments: ["http://[user:SEKRIT]:3128", "[user:SEKRIT]", "http://[user:SEKRIT"])
    func `what stands in the brackets of a proxy's host is shown only if it is an address`(
        proxy: String
    ) throws {
        let fault = try #require(ProxyAddress.fault(in: proxy))
        #expect(!fault.contains("SEKRIT"))
        #expect(ProxyAddress.fault(in: "http://[::1]:3128") == nil)
        #expect(ProxyAddress.fault(in: "http://[fe80::1%25lo]:3128") == nil)
        #expect(ProxyAddress.fault(in: "http://[::1]:x")?.hasPrefix("http://[::1]:x") == true)
    }
}

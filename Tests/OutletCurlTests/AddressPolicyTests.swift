import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `An address policy` {
    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1",
        "127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255",
        "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
        "198.51.100.7", "203.0.113.7", "224.0.0.251", "239.255.255.250", "240.0.0.1",
        "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:a9fe:a9fe", "::127.0.0.1",
        "::8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::",
        "2002:c0a8:101::1", "3fff::1", "3fff:fff::1", "5f00::1", "fc00::1", "fd00:ec2::254",
        "fdff::1", "fe80::1", "fe80::1%lo", "febf::1", "fec0::1", "ff02::1", "ff0e::1",
        "2600::5efe:10.0.0.1", "2600::200:5efe:192.168.0.1", "[::1]",
    ])
    func `publicOnly refuses an address that is not public`(address: String) {
        #expect(!AddressPolicy.publicOnly.allows(address))
        #expect(AddressPolicy.any.allows(address))
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255",
        "100.128.0.0", "126.255.255.255", "128.0.0.1", "168.63.129.15", "169.253.255.255",
        "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0",
        "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        "2001:200::1", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00::1", "3ffe::1",
        "[2a00::1]",
    ])
    func `publicOnly allows a public address`(address: String) {
        #expect(AddressPolicy.publicOnly.allows(address))
    }

    @Test func `allowed and denied networks change the base policy`() throws {
        let inside = try AddressPolicy(
            .publicOnly, allowing: ["10.1.2.0/24", "fd12::/16", "127.0.0.1"],
            denying: ["10.1.2.128/25", "8.8.8.8"])
        for (address, isAllowed) in [
            ("10.1.2.1", true), ("10.1.2.129", false), ("10.1.3.1", false), ("fd12:1::1", true),
            ("fd13::1", false), ("127.0.0.1", true), ("127.0.0.2", false), ("8.8.4.4", true),
            ("8.8.8.8", false), ("::ffff:8.8.8.8", false), ("64:ff9b::8.8.8.8", false),
            ("2002:808:808::1", false), ("::ffff:10.1.2.1", true), ("64:ff9b::10.1.2.1", false),
            ("no address", false), ("", false),
        ] {
            #expect(inside.allows(address) == isAllowed, "\(address)")
        }
        #expect(
            "\(inside)"
                == "publicOnly, allowing 10.1.2.0/24 fd12::/16 127.0.0.1, denying 10.1.2.128/25 8.8.8.8"
        )
        let only = try AddressPolicy(.none, allowing: ["192.0.2.0/31", "::/0"])
        #expect(only.allows("192.0.2.1") && !only.allows("192.0.2.2") && only.allows("::1"))
        let all = try AddressPolicy(.any, denying: ["::ffff:10.0.0.0/104"])
        #expect(!all.allows("10.9.9.9") && all.allows("11.0.0.0") && all.allows("::1"))
        #expect(try AddressPolicy(.none, allowing: ["0.0.0.0/0"]).allows("1.2.3.4"))
    }

    @Test(arguments: [
        "", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8/8", "10/8", "::/129",
        "::ffff:10.0.0.0/8", "localhost", "10.0.0.0/8\u{301}", "10.0.0.0/+8", "/8",
    ])
    func `a policy with an invalid network is an error`(text: String) {
        let error = #expect(throws: AddressPolicyError.self) {
            try AddressPolicy(.any, denying: [text])
        }
        #expect(error?.network == text)
    }
}

/// Connections to servers on this machine, which the policy `publicOnly` refuses.
@Suite struct `Connections under an address policy` {
    private func isRefused(
        _ error: TransferError?, _ address: String, policy: String = "publicOnly",
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(error?.code == .addressNotAllowed, sourceLocation: location)
        #expect(
            error?.reason == "the address policy (\(policy)) does not allow \(address)",
            sourceLocation: location)
        #expect(error?.advice.contains("addressPolicy") == true, sourceLocation: location)
    }

    private func transport(
        _ policy: AddressPolicy, _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) -> CurlTransport {
        .test {
            $0.addressPolicy = policy
            change(&$0)
        }
    }

    private func job(_ url: String, _ policy: AddressPolicy?) -> TransferJob {
        var job = TransferJob(request: HTTPRequest(url: URL(string: url)))
        job.addressPolicy = policy
        return job
    }

    @Test func `publicOnly refuses every spelling of a local address`() async throws {
        let server = try ScriptedServer.start(at: .everywhere(port: 0), .request, .respond())
        let transport = transport(.publicOnly)
        for (host, address) in [
            ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("127.0.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"),
            ("0x7F.1", "127.0.0.1"), ("017700000001", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"),
            ("0", "0.0.0.0"), ("0.0.0.0", "0.0.0.0"), ("[::1]", "::1"), ("[::]", "::"),
            ("[0:0:0:0:0:0:0:1]", "::1"), ("[::ffff:127.0.0.1]", "127.0.0.1"),
            ("[::ffff:7f00:1]", "127.0.0.1"), ("[::127.0.0.1]", "::127.0.0.1"),
            ("[64:ff9b::7f00:1]", "64:ff9b::7f00:1"), ("[fe80::1%25lo]", "fe80::1"),
            ("169.254.169.254", "169.254.169.254"), ("[fd00:ec2::254]", "fd00:ec2::254"),
        ] {
            let error = try await transport.get("http://\(host):\(server.port)/").error
            // A URL that is rejected as malformed is not connected to either.
            if error?.code == .badURL { continue }
            isRefused(error, address)
        }
        for host in ["localhost", "LocalHost.", "%6cocalhost", "127.0.0.1."] {
            let error = try await transport.get("http://\(host):\(server.port)/").error
            #expect(error != nil, "\(host)")
        }
        #expect(server.connections.count == 0)
    }

    @Test func `a connection uses the allowed address of a host name`() async throws {
        let server = try ScriptedServer.start(
            at: .everywhere(port: 0), .request, .respond(body: "x"), .again)
        let policy = try AddressPolicy(.publicOnly, allowing: ["127.0.0.2"])
        for addresses in ["::1 127.0.0.2", "127.0.0.1 127.0.0.2", "127.0.0.2 ::1 127.0.0.1"] {
            let name = ListedName(addresses)
            let result = try await transport(policy).get(
                "http://\(name.hostName):\(server.port)/")
            #expect(result.text == "x", "\(String(describing: result.error))")
            #expect(result.metrics.remoteAddress == "127.0.0.2:\(server.port)")
        }
        let none = ListedName("::1 127.0.0.1")
        let error = try await transport(policy).get("http://\(none.hostName):\(server.port)/").error
        #expect(error?.code == .addressNotAllowed)
        #expect(server.connections.count == 3)
    }

    @Test func `the error of a failed connection is that of the allowed address`() async throws {
        let name = ListedName("127.0.0.1 127.0.0.2")
        let policy = try AddressPolicy(.publicOnly, allowing: ["127.0.0.2"])
        let error = try await transport(policy).get(
            "http://\(name.hostName):\(try refusingPort())/"
        ).error
        #expect(error?.code == .cannotConnectToHost)
    }

    @Test func `a host name that resolves to another address is checked again`() async throws {
        let server = try ScriptedServer.start(
            at: .everywhere(port: 0), .request, .respond(headers: ["Connection: close"], body: "x"))
        let name = ListedName("127.0.0.2", "127.0.0.1")
        let policy = try AddressPolicy(.publicOnly, allowing: ["127.0.0.2"])
        let url = "http://\(name.hostName):\(server.port)/"
        #expect(try await transport(policy).get(url).text == "x")
        isRefused(
            try await transport(policy).get(url).error, "127.0.0.1",
            policy: "publicOnly, allowing 127.0.0.2")
        #expect(server.connections.count == 1)
    }

    @Test func `an idle connection is reused only if the policy allows its address`() async throws {
        let server = try ScriptedServer.start(
            at: .everywhere(port: 0), .request, .respond(body: "x"), .again)
        let transport = CurlTransport.test()
        let name = ListedName("127.0.0.1 127.0.0.2")
        let url = "http://\(name.hostName):\(server.port)/"
        #expect(try await transport.carry(job(url, nil)).text == "x")
        isRefused(
            try await transport.carry(job(url, .publicOnly)).error, "127.0.0.2")
        #expect(server.requests.count == 1)
        // A request without a policy leaves an idle connection to 127.0.0.1. A request whose policy
        // does not allow this address must not use that connection.
        #expect(try await transport.carry(job(url, nil)).text == "x")
        let second = try AddressPolicy(.publicOnly, allowing: ["127.0.0.2"])
        let result = try await transport.carry(job(url, second))
        #expect(result.metrics.remoteAddress == "127.0.0.2:\(server.port)")
        let again = try await transport.carry(job(url, second))
        #expect(again.metrics.remoteAddress == "127.0.0.2:\(server.port)")
        #expect(again.metrics.isReusedConnection)
    }

    @Test func `an HTTP/2 connection is shared only if the policy allows its address`() async throws
    {
        let nginx = try await Nginx.shared()
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        }
        let url = "\(nginx.baseURL(.tls))/small.txt"
        let first = try await transport.carry(job(url, nil))
        #expect(first.response?.httpVersion == "HTTP/2")
        let error = try await transport.carry(job(url, .publicOnly)).error
        #expect(error?.code == .addressNotAllowed)
        #expect(try await transport.carry(job(url, nil)).error == nil)
    }

    @Test func `both the transport's and the job's policy must allow an address`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let transport = transport(.publicOnly)
        isRefused(try await transport.carry(job(server.baseURL, .any)).error, "127.0.0.1")
        let local = try AddressPolicy(.publicOnly, allowing: ["127.0.0.0/8"])
        isRefused(try await transport.carry(job(server.baseURL, local)).error, "127.0.0.1")
        let open = self.transport(local)
        #expect(try await open.carry(job(server.baseURL, local)).text == "x")
        #expect(try await open.carry(job(server.baseURL, .any)).text == "x")
        isRefused(try await open.carry(job(server.baseURL, .publicOnly)).error, "127.0.0.1")
    }

    // MARK: Proxies and Unix sockets

    @Test func `the policy applies to the target address, not to the proxy's address`() async throws
    {
        let proxy = try ScriptedServer.start(.request, .respond(body: "by proxy"), .again)
        let transport = transport(.publicOnly) { $0.proxy = .url(proxy.baseURL, except: []) }
        for host in ["93.184.216.34", "[2a00::1]", "1.1"] {
            #expect(try await transport.get("http://\(host)/").text == "by proxy", "\(host)")
        }
        let count = proxy.requests.count
        for (host, address) in [
            ("10.0.0.1", "10.0.0.1"), ("0x0a.1", "10.0.0.1"), ("[::ffff:10.0.0.1]", "10.0.0.1"),
            ("[::1]", "::1"), ("[fe80::1%25lo]", "fe80::1"),
        ] {
            for scheme in ["http", "https"] {
                isRefused(try await transport.get("\(scheme)://\(host)/").error, address)
            }
        }
        #expect(proxy.requests.count == count)
    }

    @Test func `a host name is sent to a proxy only if isEnforcedByProxy is set`() async throws {
        let proxy = try ScriptedServer.start(.request, .respond(body: "by proxy"), .again)
        var policy = AddressPolicy.publicOnly
        func get(_ url: String) async throws -> TransferResult {
            try await transport(policy) { $0.proxy = .url(proxy.baseURL, except: []) }.get(url)
        }
        for url in ["http://example.test/", "https://example.test/", "http://localhost/"] {
            let error = try await get(url).error
            #expect(error?.code == .addressNotAllowed)
            #expect(error?.reason.contains("publicOnly") == true)
            #expect(error?.advice.contains("isEnforcedByProxy") == true)
        }
        #expect(proxy.connections.count == 0)
        policy.isEnforcedByProxy = true
        #expect(try await get("http://example.test/").text == "by proxy")
        isRefused(try await get("http://10.0.0.1/").error, "10.0.0.1")
    }

    @Test func `the policy applies to a host that bypasses the proxy`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let transport = transport(.publicOnly) {
            $0.proxy = .url("http://127.0.0.1:1", except: ["127.0.0.1"])
        }
        isRefused(try await transport.get(server.baseURL).error, "127.0.0.1")
        #expect(server.connections.count == 0)
    }

    @Test func `the policy does not apply to the configured Unix socket`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        let server = try ScriptedServer.start(
            at: .unix(path: path), .request, .respond(body: "x"), .again)
        let transport = transport(.publicOnly) { $0.unixSocketPath = path }
        for policy in [nil, AddressPolicy.publicOnly, try AddressPolicy(.none)] {
            #expect(try await transport.carry(job(server.baseURL, policy)).text == "x")
        }
    }

    @Test func `a network prefix may be longer than 64 bits`() throws {
        let policy = try AddressPolicy(.any, denying: ["2606:4700::10/124"])
        #expect(!policy.allows("2606:4700::1f") && policy.allows("2606:4700::20"))
        #expect(policy.allows("2606:4700::1:10"))
    }

    @Test(arguments: [
        "10.0.0.1", "::ffff:10.0.0.1", "::10.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b::10.0.0.1",
        "2002:a00:1::", "2001:0:a00:1::", "2001:0:808:808::f5ff:fffe", "2606::5efe:10.0.0.1",
        "2606::200:5efe:10.0.0.1",
    ])
    func `a denied IPv4 address is denied in all its IPv6 forms`(address: String) throws {
        #expect(try !AddressPolicy(.any, denying: ["10.0.0.0/8"]).allows(address))
        #expect(try AddressPolicy(.any, denying: ["11.0.0.0/8"]).allows(address))
        #expect(!AddressPolicy.publicOnly.allows(address))
    }
}

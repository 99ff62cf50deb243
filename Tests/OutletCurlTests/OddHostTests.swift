import CCurl
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletSession
import OutletTestSupport
import Testing

@testable import OutletCurl
import OutletTransport

/// The canonical form of unusual hosts, on which address policies and libcurl must agree.
@Suite struct `Unusual hosts` {
    /// The host and port of a URL as libcurl's URL parser returns them.
    private struct Parsed: Equatable {
        var host: String
        var port: String

        /// Parses a URL; `nil` if libcurl rejects it.
        init?(_ address: String) {
            guard let handle = curl_url() else { return nil }
            defer { curl_url_cleanup(handle) }
            guard curl_url_set(handle, CURLUPART_URL, address, 0) == CURLUE_OK,
                let host = Self.part(handle, CURLUPART_HOST),
                let port = Self.part(handle, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT))
            else { return nil }
            let zone = Self.part(handle, CURLUPART_ZONEID)
            self.host = zone.map { "\(host.dropLast())%25\($0)]" } ?? host
            self.port = port
        }

        private static func part(
            _ handle: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0
        ) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else {
                return nil
            }
            defer { curl_free(text) }
            return String(cString: text)
        }
    }

    /// Hosts for which libcurl's parser returns the canonical form, apart from the case of letters.
    @Test(
        arguments: [
            ("http://localhost/", "localhost", 80), ("HTTPS://LocalHost/", "localhost", 443),
            ("http://loc%61lhost/", "localhost", 80), ("http://LOC%41LHOST/", "localhost", 80),
            ("http://127.1/", "127.0.0.1", 80), ("http://127.0.1/", "127.0.0.1", 80),
            ("http://2130706433/", "127.0.0.1", 80), ("http://0x7f.1/", "127.0.0.1", 80),
            ("http://0X7F.0.0.1/", "127.0.0.1", 80), ("http://0177.0.0.01/", "127.0.0.1", 80),
            ("http://0x7f000001/", "127.0.0.1", 80), ("http://0/", "0.0.0.0", 80),
            ("http://4294967295/", "255.255.255.255", 80), ("http://1.65535/", "1.0.255.255", 80),
            ("http://1.2.65535/", "1.2.255.255", 80),
            ("http://[::1]/", "::1", 80), ("http://[0:0:0:0:0:0:0:1]:8080/", "::1", 8080),
            ("http://[::1%25lo]/", "::1%lo", 80), ("http://[fe80::1%lo]/", "fe80::1%lo", 80),
            ("http://[2001:DB8:0:0:1:0:0:1]/", "2001:db8::1:0:0:1", 80),
            ("http://[::ffff:1.2.3.4]/", "::ffff:1.2.3.4", 80),
            ("http://user:p%40ss@host/", "host", 80), ("http://user@host:81/", "host", 81),
            ("http://:p@host/", "host", 80), ("http://@host/", "host", 80),
            ("http://a_b.test/", "a_b.test", 80), ("http://_/", "_", 80),
            ("http://-a-/", "-a-", 80),
            ("http://host:/", "host", 80), ("http://host:065535/", "host", 65535),
            ("http://host?x@y", "host", 80), ("http://host#x@y", "host", 80),
            ("http://h%6Fst%2Etest/", "host.test", 80),
            ("http://\(String(repeating: "a", count: 63)).test/", nil, 80),
        ] as [(String, String?, Int)])
    func `the canonical host and port equal those of libcurl's parser`(
        address: String, host: String?, port: Int
    ) throws {
        let canonical = try CanonicalAddress(address)
        if let host { #expect(canonical.origin.host == host) }
        #expect(canonical.origin.port == port)
        let parsed = try #require(Parsed(address))
        #expect(
            parsed.host.lowercased() == canonical.origin.bracketedHost || address.contains("DB8"))
        #expect(parsed.port == "\(port)")
    }

    /// Hosts that libcurl's parser does not bring into the canonical form by itself: it leaves them
    /// unchanged, or for its resolver, or converts them depending on the locale.
    @Test(arguments: [
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://b%C3%BCcher.example/", "xn--bcher-kva.example"),
        ("http://BÜCHER.example/", "xn--bcher-kva.example"),
        ("http://xn--BCHER-kva.example/", "xn--bcher-kva.example"),
        ("http://faß.de/", "xn--fa-hia.de"), ("http://ｌｏｃａｌｈｏｓｔ/", "localhost"),
        ("http://a。test/", "a.test"), ("http://a．test｡/", "a.test"),
        ("http://loc\u{AD}alhost/", "localhost"), ("http://ex\u{FE0F}ample/", "example"),
        ("http://_x.bücher.example/", "_x.xn--bcher-kva.example"),
        ("http://１２７.1/", "127.0.0.1"), ("http://%31%32%37.1/", "127.0.0.1"),
        ("http://①.test/", "1.test"),
        ("http://host./", "host"), ("http://HOST.:80/", "host"), ("http://host%2E/", "host"),
        ("http://[::ABCD]/", "::abcd"), ("http://[1:2:3:4:5:6:0:8]/", "1:2:3:4:5:6:0:8"),
    ])
    func `hosts that libcurl's parser leaves unchanged have a canonical form`(
        address: String, host: String
    ) throws {
        #expect(try CanonicalAddress(address).origin.host == host)
    }

    @Test(arguments: [
        ("http://a\\b/", "no '\\'"), ("http://a\\@b\\c/", "no '\\'"), ("http://a%5Cb/", "no '\\'"),
        ("http://a@b@c/", "more than one @"), ("http://u:p@ss@h/", "more than one @"),
        ("http://a%40b/", "no '@'"), ("http://a%2Fb/", "no '/'"), ("http://a%3Fb/", "no '?'"),
        ("http://a%23b/", "no '#'"), ("http://a%3A80/", "no ':'"), ("http://a%2561/", "no '%'"),
        ("http://a%00b/", "no byte 0x0"), ("http://a%0D%0Ab/", "no byte 0xd"),
        ("http://a b/", "no byte 0x20"), ("http://a%20b/", "no byte 0x20"),
        ("http://a%7F/", "no byte 0x7f"), ("http://a|b/", "no '|'"), ("http://a{b}/", "no '{'"),
        ("http://a%zz/", "hexadecimal"), ("http://a%6/", "hexadecimal"),
        ("http://%ff/", "not UTF-8"), ("http://%C3%A9%00/", "no byte 0x0"),
        ("http://a／b/", "no '/'"), ("http://a＠b/", "no '@'"), ("http://a℀b/", "no '/'"),
        ("http://\u{AD}/", ""), ("http://\u{FFFD}/", "internationalized"),
        ("http:///", "no host"), ("http:/h/", "no host"), ("http:h", "no host"),
        ("http://", "no host"), ("http://:80/", "no host"), ("http://user@/", "no host"),
        ("http://./", "empty"), ("http://a..b/", "empty label"), ("http://.a/", "empty label"),
        ("http://a../", "empty label"), ("http://a。。b/", "empty label"),
        ("http://\(String(repeating: "a", count: 64)).test/", "64 bytes"),
        ("http://\(String(repeating: "a.", count: 128))/", "255 bytes"),
        ("http://h:0/", "1 to 65535"), ("http://h:65536/", "1 to 65535"),
        ("http://h:99999999999999999999/", "1 to 65535"), ("http://h:+80/", "1 to 65535"),
        ("http://h:8o/", "1 to 65535"), ("http://h:80:80/", "1 to 65535"),
        ("http://256.1/", "IPv4"), ("http://1.2.3.4.5/", "IPv4"), ("http://08.1/", "IPv4"),
        ("http://0x/", "IPv4"), ("http://127.0.0.1./", "IPv4"), ("http://4294967296/", "IPv4"),
        ("http://99999999999999999999999/", "IPv4"), ("http://a.1/", "IPv4"),
        ("http://1.256.1.1/", "IPv4"), ("http://1.65536.1/", "IPv4"), ("http://0x100.1/", "IPv4"),
        ("http://[::1/", "bracket"), ("http://[]/", "IPv6"), ("http://[1]/", "IPv6"),
        ("http://[::1]x/", "bracket"), ("http://[%3A:1]/", "IPv6"), ("http://[::g]/", "IPv6"),
        ("http://[1:2:3:4:5:6:7:8:9]/", "IPv6"), ("http://[::1%25]/", "zone"),
        ("http://[::1%25a%2Fb]/", "zone"), ("http://[::1%25abcdefghijklmnop]/", "zone"),
        ("http://%5B::1%5D/", "no '['"), ("//h/", "no scheme"), ("h/http://x", "no scheme"),
    ])
    func `an ambiguous or invalid host is refused`(
        address: String, reason: String
    ) throws {
        let error = #expect(throws: OriginError.self) { try CanonicalAddress(address) }
        let text = "\(try #require(error))"
        #expect(text.contains(reason))
    }

    @Test(arguments: [
        "http://loc%61lhost:80/a%2Fb?c#d", "https://u:p%40@HOST.:8443?q", "http://[::%31]/",
        "http://127.1",
        "http://[FE80::1%25lo]:80/", "http://bücher.example/", "http://a。test./x",
        "https://[::ffff:1.2.3.4]:443/", "http://_~-.test/", "http://host:/",
    ])
    func `libcurl parses the canonical URL to the same host and port`(address: String) throws {
        let canonical = try CanonicalAddress(address)
        let parsed = try #require(Parsed(canonical.text))
        #expect(parsed.host == canonical.wireHost)
        #expect(parsed.port == "\(canonical.origin.port)")
        // The canonical form of a canonical URL is the URL itself.
        #expect(try CanonicalAddress(canonical.text).text == canonical.text)
    }

    @Test(arguments: [
        ("http://loc%61lhost:PORT/", "localhost:PORT"), ("http://127.1:PORT/", "127.0.0.1:PORT"),
        ("http://0x7F.0.0.1:PORT/", "127.0.0.1:PORT"),
        ("http://ｌocalhost:PORT/", "localhost:PORT"),
    ])
    func `the Host field contains the canonical host`(address: String, field: String) async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"))
        func text(_ text: String) -> String { text.replacing("PORT", with: "\(server.port)") }
        let result = try await CurlTransport.test().get(text(address))
        #expect(result.text == "x")
        let head = try await server.requests.values(1)[0].head
        #expect(head.contains("\r\nHost: \(text(field))\r\n"))
    }

    @Test(arguments: [
        ("http://bücher.example/x", "GET http://xn--bcher-kva.example/x HTTP/1.1\r\n"),
        ("http://BÜCHER.example:81/", "GET http://xn--bcher-kva.example:81/ HTTP/1.1\r\n"),
    ])
    func `an internationalized host is sent in its ASCII form`(
        address: String, line: String
    ) async throws {
        let proxy = try ScriptedServer.start(.request, .respond(body: "x"))
        let transport = CurlTransport.test {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)", except: [])
        }
        #expect(try await transport.get(address).text == "x")
        let head = try await proxy.requests.values(1)[0].head
        #expect(head.hasPrefix(line))
        #expect(head.contains("\r\nHost: xn--bcher-kva.example"))
    }

    @Test func `the error of a refused host names the host, and nothing is sent`() async throws {
        let proxy = try ScriptedServer.start(.request, .respond(body: "x"))
        let transport = CurlTransport.test {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)", except: [])
        }
        let error = try await transport.get("http://a%2Fb.test/").error
        #expect(error?.code == .badURL)
        #expect(error?.reason == "address: host \"a%2Fb.test\": a host has no '/'")
        #expect(proxy.connections.values.isEmpty)
    }

    @Test func `the zone of an address names the interface to connect through`() async throws {
        func scope(_ address: String) throws -> UInt32? {
            try Address(address) { OriginQueue($0, limit: 1) }.scope
        }
        let number = if_nametoindex("lo")
        #expect(try scope("http://[fe80::1%25lo]:1/") == number)
        #expect(try scope("http://[fe80::1%25\(number)]/") == number)
        #expect(try scope("http://[fe80::1]/") == nil)
        let error = try await CurlTransport.test().get("http://[fe80::1%25nosuch]/").error
        #expect(error?.code == .badURL)
        #expect(error?.reason == "address: its zone nosuch is no interface of this machine")
    }
}

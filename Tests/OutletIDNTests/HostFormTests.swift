import OutletIDN
import Testing

@Suite struct HostFormTests {
    @Test(arguments: [
        ("example.com", "example.com"), ("EXAMPLE.com", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"), ("straße.example", "xn--strae-oqa.example"),
        ("例え.jp", "xn--r8jz45g.jp"), ("faß.de", "xn--fa-hia.de"),
        // Decomposed and full-width letters, and a dot that is not ASCII.
        ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("ｅｘａｍｐｌｅ.com", "example.com"),
        ("example。com", "example.com"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ])
    func `a name is converted to its ASCII form for DNS`(name: String, form: String) throws {
        #expect(try HostForm.ascii(name) == form)
    }

    @Test(arguments: [
        "xn--\u{1F4A9}.example", "a\u{202E}b.example",
        String(repeating: "é", count: 70) + ".example",
        "xn--a.example",
    ])
    func `a name that is invalid in DNS is refused with a reason`(name: String) throws {
        let failure = #expect(throws: HostForm.Failure.self) { try HostForm.ascii(name) }
        #expect(failure?.reason.isEmpty == false)
    }

    @Test(arguments: [
        ("::1", "::1"), ("0:0:0:0:0:0:0:1", "::1"), ("2001:DB8::0:1", "2001:db8::1"),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1"), ("fe80:0:0:0:1:0:0:2", "fe80::1:0:0:2"),
    ])
    func `an IPv6 address has one canonical form`(text: String, form: String) {
        #expect(HostForm.ipv6(text) == form)
    }

    @Test(arguments: ["", "1", "127.0.0.1", "::1%lo", "[::1]", "1::2::3", "::1 ", "12345::", ":::"])
    func `invalid text has no IPv6 form`(text: String) {
        #expect(HostForm.ipv6(text) == nil)
    }
}

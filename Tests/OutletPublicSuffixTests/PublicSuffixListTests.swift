import OutletPublicSuffix
import Testing

@Suite struct PublicSuffixListTests {
    @Test(arguments: ["com", "co.uk", "github.io", "localhost", "xn--p1ai", "ck"])
    func `a public suffix has no registrable domain`(domain: String) {
        #expect(PublicSuffixList.contains(domain))
        #expect(PublicSuffixList.registrableDomain(of: domain) == nil)
    }

    @Test(arguments: [
        ("example.com", "example.com"), ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"), ("someone.github.io", "someone.github.io"),
        ("a.someone.github.io", "someone.github.io"),
        // An exception from `*.ck`.
        ("www.ck", "www.ck"), ("x.www.ck", "www.ck"),
    ])
    func `a name below a public suffix has a registrable domain`(name: String, domain: String) {
        #expect(!PublicSuffixList.contains(name))
        #expect(PublicSuffixList.registrableDomain(of: name) == domain)
    }

    @Test func `a name of many labels has a registrable domain`() {
        let name = String(repeating: "a.", count: 120) + "example.com"
        #expect(PublicSuffixList.registrableDomain(of: name) == "example.com")
    }
}

import FoundationEssentials
import OutletTransport
import Testing

@testable import OutletProvider

@Suite struct RecentAddressTests {
    private let recent = RecentAddress()

    /// Returns the address of a path, and whether it was joined.
    private func address(_ base: String, _ path: String) throws -> (text: String, isJoined: Bool) {
        let url = try #require(URL(string: base))
        var isJoined = false
        let address = recent.address(url, path) {
            isJoined = true
            return url.appendingPathComponent(path)
        }
        #expect(address.text == address.url.absoluteString)
        return (address.text, isJoined)
    }

    @Test func `an address is joined once for the same base URL and path`() throws {
        #expect(try address("http://zoo.test", "a") == ("http://zoo.test/a", true))
        #expect(try address("http://zoo.test", "a") == ("http://zoo.test/a", false))
        #expect(try address("http://zoo.test", "b") == ("http://zoo.test/b", true))
        #expect(try address("http://zoo.test:1", "b") == ("http://zoo.test:1/b", true))
    }

    @Test func `canonically equivalent paths have their own addresses`() throws {
        #expect(try address("http://zoo.test", "caf\u{E9}").text == "http://zoo.test/caf%C3%A9")
        #expect(
            try address("http://zoo.test", "cafe\u{301}").text == "http://zoo.test/cafe%CC%81")
    }

    @Test func `an address that may contain a password is not kept`() throws {
        for _ in 0..<2 {
            #expect(try address("http://ada:secret@zoo.test", "a").isJoined)
        }
    }

    @Test func `a relative base URL is resolved by its own base`() throws {
        for host in ["one.test", "two.test"] {
            let base = try #require(
                URL(string: "api", relativeTo: URL(string: "http://\(host)/")))
            let address = recent.address(base, "a") { base.appendingPathComponent("a") }
            #expect(address.url.absoluteString == "http://\(host)/api/a")
        }
    }

    @Test(arguments: [("http://zoo.test/api", true), ("mailto:keeper", false), ("zoo", false)])
    func `only an absolute URL with a host is complete`(
        address: (text: String, isComplete: Bool)
    ) throws {
        let url = try #require(URL(string: address.text))
        #expect(recent.address(url, "") { url }.isComplete == address.isComplete)
    }
}

import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

@testable import OutletPluginHost

/// Which plugins judge the servers of a request.
@Suite struct TrustDeciderTests {
    @Test func `requests that skip a plugin have a policy of their own, which stays the same`()
        throws
    {
        let host = try PluginFolder(faulty: "Extras").load()
        let plugin = try #require(host.plugins.first { $0.id == "faulty.judging" })
        let decider = try #require(host.trustDecider(behind: nil, verifies: true))
        let request = HTTPRequest(url: URL(string: "https://a.test/"))
        var own = request
        own.context.exclude(plugin.instance, and: nil)
        func number(for request: HTTPRequest) -> UInt64? {
            decider.decider(for: request).policy(forHost: "a.test", port: 443)
                .map(\.number)
        }
        let (all, others) = (number(for: request), number(for: own))
        #expect(all != nil && others != nil && all != others)
        // Connections are used again only with the same number.
        #expect(number(for: request) == all)
        #expect(number(for: own) == others)
    }
}

import COutletPlugin
import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletPluginHost

/// The descriptions of what hooks have changed.
@Suite struct EffectsTests {
    private let request = HTTPRequest(url: URL(string: "http://a.test/"))

    @Test func `of many effects 64 are described, and the others are counted`() {
        var changed = request
        for index in 1...100 { changed.headers.append(name: "X-\(index)", value: "1") }
        let effects = Effects.of(request, changed, answer: nil)
        #expect(effects.count == 65)
        #expect(effects[63] == "+ X-64: 1" && effects[64] == "and 36 more")
    }

    @Test func `long effects are cut off after 512 bytes`() {
        var changed = request
        let value = String(repeating: "v", count: Int(OUTLET_MAX_VALUE))
        changed.url = URL(string: "http://a.test/\(value)")
        changed.headers.append(name: "X-Long", value: value)
        for _ in 0..<1000 { changed.headers.append(name: "X-Often", value: value) }
        changed.context.notes[String(repeating: "n", count: Int(OUTLET_MAX_NAME))] = ""
        let effects = Effects.of(request, changed, answer: nil)
        #expect(effects.count == 4)
        for effect in effects {
            #expect(effect.utf8.count == 512 + "…".utf8.count && effect.hasSuffix("…"))
        }
    }
}

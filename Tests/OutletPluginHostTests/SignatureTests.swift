import Testing

@testable import OutletPluginHost

@Suite struct SignatureTests {
    @Test(arguments: [
        ("v()", "() -> nothing"), ("e(cso)", "(text) -> text"),
        ("l(sL)", "(text, uint64) -> int64"),
        ("b(d)", "(number) -> boolean"), ("e(c)", "() -> nothing"), ("e(rO)", "(request) -> bytes"),
        ("v(sf{b(sy)}i)", "(text, ((text, bytes) -> boolean), int32) -> nothing"),
        ("I(iiiiiiii)", "(int32, int32, int32, int32, int32, int32, int32, int32) -> uint32"),
    ])
    func `a signature is printed as a declaration`(text: String, declaration: String) throws {
        let signature = try Signature(text)
        #expect(signature.declaration == declaration)
        #expect(signature.description == text)
    }

    @Test(arguments: [
        ("", "empty"), ("l", "not of the form result(arguments)"),
        ("l(", "not of the form result(arguments)"), ("l()x", "not of the form result(arguments)"),
        ("q()", "unknown letter 'q'"), ("l(é)", "unknown letter 'é'"),
        ("l(v)", "'v' cannot be an argument"), ("l(e)", "'e' cannot be an argument"),
        ("o()", "'o' cannot be a result"), ("s()", "'s' cannot be a result"),
        ("e(oO)", "'o' comes twice"), ("v(f)", "'f' without its signature in braces"),
        ("v(f{b(s)", "'f' without its signature in braces"), ("v(f{})", "empty"),
        ("v(f{b(f{b()})})", "'f' inside of 'f'"), ("v(f{e()})", "'e' cannot be a result"),
        ("v(f{v(r)})", "'r' cannot be an argument of 'f'"),
        ("e(cc)", "'c' comes twice"),
        ("e(oo)", "'o' comes twice"), ("l(o)", "with 'o' the result must be 'e'"),
        ("l(lllllllll)", "9 arguments, at most 8"),
    ])
    func `the error for an invalid signature has the reason`(text: String, reason: String) {
        #expect(throws: Signature.Malformed(reason: reason)) { try Signature(text) }
    }
}

import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTesting
import Testing

/// Readers of mirrors, such as `dump`, get no secrets that descriptions hide.
@Suite struct DumpTests {
    private func text(_ value: Any) -> String {
        var text = ""
        // As in another type, whose properties are dumped in turn.
        dump([value], to: &text)
        return text
    }

    @Test func `the dump of an error is its description`() {
        let errors: [SessionError] = [
            .invalidURL(url: "http://u:s3cret@:1/"),
            .createURLRequestFailed(error: SessionError.invalidURL(url: "h/?token=s3cret")),
            .urlRequestValidationFailed(reason: .bodyDataInGETRequest(Data("s3cret".utf8))),
        ]
        for error in errors {
            #expect(!text(error).contains("s3cret"), "\(text(error))")
            #expect(text(error).contains(error.description))
        }
    }

    @Test func `the dump of a request has no parameters, fields and credentials`() async {
        let session = Session(transport: StubTransport { _ in .text("x") })
        let request = session.request(
            "http://a.test/", method: .post, parameters: ["password": "s3cret"],
            headers: ["Authorization": "Bearer s3cret"]
        ).authenticate(username: "u", password: "s3cret")
        #expect(!text(request).contains("s3cret"))
        _ = await request.serializingString().response
        #expect(!text(request).contains("s3cret"))
        #expect(text(request).contains("POST http://a.test/ (200)"))
    }
}

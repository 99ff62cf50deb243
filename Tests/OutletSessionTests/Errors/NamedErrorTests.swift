import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests that errors name the request that failed.
@Suite struct NamedErrorTests {
    private let address = "http://u:pw@h.test/a?token=x&q=1"
    private let shown = "http://•••@h.test/a?token=•••&q=1"
    private let lost = TransferError(
        code: .networkConnectionLost, host: "h.test", reason: "lost", advice: "try again")

    @Test func `a transfer's error names method and URL without secrets`() async throws {
        let session = Session(transport: StubTransport(answers: [.failure(lost)]))
        let response = await session.request(address, method: .put).serializingData().response
        withExtendedLifetime(session) {}
        let error = try #require(response.error)
        #expect("\(error)" == "PUT \(shown): lost (try again)")
        let transfer = try #require(error.transferError)
        #expect(transfer.method == .put && transfer.url?.absoluteString == address)
        #expect(transfer.host == "h.test" && transfer.reason == "lost")
        // The request's name does not affect equality.
        #expect(transfer == lost)
        #expect(response.debugDescription.contains("[Result]: failure(PUT \(shown): lost"))
    }

    @Test func `after a redirect the error names the hop that failed`() async throws {
        let hops = StubTransport(answers: [.redirect(to: "/b?sig=1"), .failure(lost)])
        let session = Session(transport: hops)
        let response = await session.request(address).serializingData().response
        withExtendedLifetime(session) {}
        #expect(
            "\(String(describing: response.error?.transferError?.description))"
                .contains("GET http://•••@h.test/b?sig=•••: lost")
                || "\(String(describing: response.error?.transferError?.description))"
                    .contains("GET http://h.test/b?sig=•••: lost")
        )
    }

    @Test func `the error for a refused redirect names the request that was redirected`()
        async throws
    {
        for location in ["ftp://h.test/", "http://"] {
            let stub = StubTransport(answers: [.redirect(to: location)])
            let session = Session(transport: stub)
            let response = await session.request(address).serializingData().response
            withExtendedLifetime(session) {}
            #expect(
                "\(String(describing: response.error))".contains("GET \(shown): redirect (302)"))
        }
        var configuration = SessionConfiguration()
        configuration.maximumRedirects = 1
        let endless = StubTransport { _ in .redirect(to: "/again?pwd=1") }
        let session = Session(transport: endless, configuration: configuration)
        let response = await session.request(address).serializingData().response
        withExtendedLifetime(session) {}
        #expect("\(String(describing: response.error))".contains("/again?pwd=•••: gave up after 1"))
    }

    @Test func `a validation or serialization failure is printed with the request`() async throws {
        let stub = StubTransport { _ in .text("no JSON", statusCode: 404) }
        let session = Session(transport: stub)
        let refused = await session.request(address, method: .put).validate().serializingData()
            .response
        let undecoded = await session.request(address).serializingDecodable(Int.self).response
        let saved = await session.download(address).validate().serializingData().response
        saved.removeFiles()
        #expect(
            "\(refused)" == "PUT \(shown): failure(Response status code was unacceptable: 404.)")
        #expect("\(undecoded)".hasPrefix("GET \(shown): failure(Response could not be decoded: "))
        #expect(
            "\(saved)" == "GET \(shown): failure(Response status code was unacceptable: 404.)")
        withExtendedLifetime(session) {}
        let failing = Session(transport: StubTransport(answers: [.failure(lost)]))
        let failed = await failing.request(address).serializingData().response
        #expect("\(failed)" == "failure(GET \(shown): lost (try again))")
        withExtendedLifetime(failing) {}
    }

    @Test func `without a request the error names the host`() {
        #expect(lost.description == "h.test: lost (try again)")
        #expect(TransferError.cancelled.description == "the transfer was cancelled")
    }

    @Test func `the error for an invalid URL hides its password`() async {
        let session = Session(transport: StubTransport(answers: []))
        let response = await session.request("http://u:pw@[/?token=x").serializingData().response
        withExtendedLifetime(session) {}
        let text = "\(String(describing: response.error))"
        #expect(!text.contains("pw") && !text.contains("token=x"), "\(text)")
    }
}

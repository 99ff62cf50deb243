import FoundationEssentials
import Outlet
import OutletTesting
import Testing

/// Stubs refuse the requests that no network's transport sends, with the same errors.
@Suite struct StubRefusalTests {
    private func error(_ session: Session, _ request: HTTPRequest) async -> TransferError? {
        await session.request(request).serializingUnserialized().response.error?.transferError
    }

    @Test(arguments: [
        ("ftp://h.test/", TransferError.Code.unsupportedURL), ("h", .unsupportedURL),
        ("file:///tmp/x", .unsupportedURL), ("http://", .badURL), ("http://h.test:0/", .badURL),
    ])
    func `a URL that no request can be sent to fails as on a network`(
        url: String, code: TransferError.Code
    ) async {
        let request = HTTPRequest(url: URL(string: url))
        let stubbed = await error(Session(transport: StubTransport { _ in .text("x") }), request)
        #expect(stubbed?.code == code)
        #expect(stubbed == (await error(Session(), request)))
    }

    @Test(arguments: [HTTPMethod.connect, .head])
    func `a request that cannot be sent fails as on a network`(method: HTTPMethod) async {
        let request = HTTPRequest(
            url: URL(string: "http://h.test/"), method: method, body: .data(Data("x".utf8)))
        let stubbed = await error(Session(transport: StubTransport { _ in .text("x") }), request)
        #expect(stubbed?.code == .badRequest)
        #expect(stubbed == (await error(Session(), request)))
    }
}

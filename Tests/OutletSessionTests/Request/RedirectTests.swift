import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTesting
import OutletTransport
import Testing

@Suite struct RedirectTests {
    private func session(_ table: [String: StubAnswer]) -> (Session, StubTransport) {
        let transport = StubTransport { job in
            table[job.request.url?.absoluteString ?? ""] ?? .status(404)
        }
        return (Session(transport: transport), transport)
    }

    @Test func `a relative redirect is followed`() async {
        let (session, transport) = session([
            "http://a.test/x/one": .redirect(to: "../two?q=1"),
            "http://a.test/two?q=1": .text("there"),
        ])
        let request = session.request("http://a.test/x/one")
        let response = await request.serializingString().response
        #expect(response.value == "there")
        #expect(response.response?.url?.absoluteString == "http://a.test/two?q=1")
        #expect(response.metrics?.redirectCount == 1)
        #expect(request.performedRequests.count == 2)
        #expect(transport.requests.count == 2)
    }

    @Test func `the description of a request has the last method, URL and status`() async {
        let (session, _) = session([
            "http://a.test/1": .redirect(303, to: "/2"), "http://a.test/2": .text("x"),
        ])
        let request = session.request("http://a.test/1", method: .post)
        #expect(request.description == "No request created yet.")
        _ = await request.serializingString().response
        #expect(request.description == "GET http://a.test/2 (200)")
    }

    @Test(arguments: [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
    func `the status code decides the method after a redirect`(code: Int, method: String) async {
        let (session, transport) = session([
            "http://a.test/1": .redirect(code, to: "/2"), "http://a.test/2": .text("x"),
        ])
        var request = HTTPRequest(url: URL(string: "http://a.test/1"), method: .post)
        request.body = .data(Data("body".utf8))
        request.headers = ["Content-Type": "text/plain"]
        _ = await session.request(request).serializingData().response
        let last = transport.requests.last
        #expect(last?.method.rawValue == method)
        #expect(last?.body.isNone == (method == "GET"))
        #expect(last?.headers["Content-Type"] == (method == "GET" ? nil : "text/plain"))
    }

    @Test(arguments: [
        ("http://a.test/2", true), ("http://b.test/2", false), ("https://a.test/2", false),
        ("http://a.test:81/2", false), ("http://A.TEST:80/2", true),
    ])
    func `credentials are redirected only to the same origin`(location: String, kept: Bool) async {
        let (session, transport) = session(["http://a.test/1": .redirect(to: location)])
        _ = await session.request(
            "http://a.test/1", headers: ["Authorization": "Bearer t", "Cookie": "c=1"]
        ).authenticate(username: "u", password: "p").serializingData().response
        #expect(transport.requests.count == 2)
        #expect((transport.requests.last?.headers["Authorization"] != nil) == kept)
        #expect((transport.requests.last?.headers["Cookie"] != nil) == kept)
        #expect((transport.jobs.last?.credential != nil) == kept)
    }

    @Test func `endless redirects end with httpTooManyRedirects`() async {
        let (session, transport) = session(["http://a.test/1": .redirect(to: "/1")])
        let response = await session.request("http://a.test/1").serializingData().response
        #expect(response.error?.transferError?.code == .httpTooManyRedirects)
        #expect(transport.requests.count == 21)
    }

    @Test(arguments: ["ftp://a.test/", "file:///etc/passwd", "javascript:x"])
    func `a redirect to another scheme is refused`(location: String) async {
        let (session, transport) = session(["http://a.test/1": .redirect(to: location)])
        let response = await session.request("http://a.test/1").serializingData().response
        #expect(response.error?.transferError?.code == .redirectToNonExistentLocation)
        #expect(transport.requests.count == 1)
    }

    @Test func `a redirect that is not followed is the response`() async {
        let (session, transport) = session(["http://a.test/1": .redirect(to: "/2")])
        let response = await session.request("http://a.test/1").redirect(using: .doNotFollow)
            .serializingUnserialized().response
        #expect(response.response?.statusCode == 302)
        #expect(response.error == nil)
        #expect(response.data == nil)
        #expect(transport.requests.count == 1)
    }

    @Test func `a redirect handler may change the request or not follow it`() async {
        let (session, transport) = session([
            "http://a.test/1": .redirect(to: "/2"), "http://a.test/3": .text("three"),
        ])
        let elsewhere = await session.request("http://a.test/1").redirect(
            using: .modify { _, request, _ in
                var request = request
                request.url = URL(string: "http://a.test/3")
                return request
            }
        ).serializingString().response
        #expect(elsewhere.value == "three")
        let nowhere = await session.request("http://a.test/1")
            .redirect(using: .modify { _, _, _ in nil })
            .serializingUnserialized().response
        #expect(nowhere.response?.statusCode == 302)
        #expect(transport.requests.count == 3)
    }

    @Test(arguments: [
        TransferError.Code.cannotDecodeContentData, .networkConnectionLost,
        .decompressionLimitExceeded,
    ])
    func `a redirect is followed though its body cannot be read`(code: TransferError.Code) async {
        let broken = TransferError(code: code, stage: .receiving, reason: "broken")
        var redirect = StubAnswer.redirect(to: "/2").failing(with: broken, atByte: 1)
        redirect.body = Data("moved".utf8)
        let (session, _) = session([
            "http://a.test/1": redirect, "http://a.test/2": .text("there"),
        ])
        let followed = session.request("http://a.test/1").serializingString()
        #expect(await followed.response.value == "there")
        // Whoever takes the redirect as the response gets the error.
        let taken = session.request("http://a.test/1").redirect(using: Redirector.doNotFollow)
        #expect(await taken.serializingString().response.error?.transferError == broken)
    }

    @Test(arguments: [TransferError.Code.timedOut, .badServerResponse])
    func `a redirect that breaks off otherwise is an error`(code: TransferError.Code) async {
        let broken = TransferError(code: code, stage: .receiving, reason: "broken")
        let (session, transport) = session([
            "http://a.test/1": .redirect(to: "/2").failing(with: broken, atByte: 0)
        ])
        let response = await session.request("http://a.test/1").serializingString().response
        #expect(response.error?.transferError == broken)
        #expect(transport.requests.count == 1)
    }
}

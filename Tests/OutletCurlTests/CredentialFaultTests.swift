import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletCurl
@testable import OutletTransport

/// Credentials that cannot be sent, wherever they come from.
@Suite struct CredentialFaultTests {
    private func credential(
        _ user: String, _ password: String, _ scheme: AuthenticationScheme? = nil
    ) -> Credential {
        Credential(user: user, password: password, scheme: scheme)
    }

    @Test(
        arguments: [
            ("us\ner", "secret", "its user name has a control character"),
            ("us\0er", "secret", "its user name has a control character"),
            ("user", "sec\u{7F}ret", "its password has a control character"),
            ("user", "sec\r\nret", "its password has a control character"),
            ("us:er", "secret", "its user name has a colon"),
        ], [nil, .basic] as [AuthenticationScheme?])
    func `a credential that Basic cannot send is an error without the secret`(
        parts: (user: String, password: String, fact: String), scheme: AuthenticationScheme?
    ) async throws {
        let credential = credential(parts.user, parts.password, scheme)
        let server = try ScriptedServer.start(.request, .respond())
        let url = URL(string: server.baseURL)
        var job = TransferJob(request: HTTPRequest(url: url))
        job.credential = credential
        let ofRequest = try await CurlTransport.test().carry(job).error
        #expect(ofRequest?.code == .badRequest)
        let ofProxy = try await CurlTransport.test {
            $0.proxy = .url(server.baseURL, except: [])
            $0.proxyCredential = credential
        }.get("http://h.test/").error
        #expect(ofProxy?.code == .badConfiguration)
        #expect(ofProxy?.reason.hasPrefix("proxyCredential: ") == true)
        let end = Once<TransferResult>()
        var socket = WebSocketJob(request: HTTPRequest(url: url))
        socket.credential = credential
        _ = CurlTransport.test().connect(socket, handler: SocketEnd(end))
        let ofSocket = try await end.value().error
        #expect(ofSocket?.code == .badRequest)
        for error in [ofRequest, ofProxy, ofSocket] {
            let text = "\(try #require(error))"
            #expect(text.contains(parts.fact), "\(text)")
            #expect(!text.contains("sec") && !text.contains("us:er"), "\(text)")
        }
        #expect(server.requests.values.isEmpty)
    }

    @Test(arguments: [
        ("us%0Aer:secret", "its user name has a control character"),
        ("user:sec%00ret", "its password has a control character"),
        ("us%3Aer:secret", "its user name has a colon"),
    ])
    func `a URL whose credential cannot be sent is an error without the secret`(
        parts: (text: String, fact: String)
    ) async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let address = "\(parts.text)@127.0.0.1:\(server.port)"
        let ofServer = try await CurlTransport.test().get("http://\(address)/").error
        #expect(ofServer?.code == .badURL)
        let end = Once<TransferResult>()
        _ = CurlTransport.test().connect(
            WebSocketJob(request: HTTPRequest(url: URL(string: "http://\(address)/"))),
            handler: SocketEnd(end))
        let ofSocket = try await end.value().error
        #expect(ofSocket?.code == .badURL)
        let ofProxy = try await CurlTransport.test {
            $0.proxy = .url("http://\(address)", except: [])
        }.get("http://h.test/").error
        #expect(ofProxy?.code == .badConfiguration)
        for error in [ofServer, ofSocket, ofProxy] {
            let text = "\(try #require(error))"
            #expect(text.contains(parts.fact), "\(text)")
            #expect(!text.contains("sec") && !text.contains("%3Aer"), "\(text)")
        }
        #expect(server.requests.values.isEmpty)
    }

    @Test func `a bearer token with a line break is an error`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        var job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        job.credential = Credential(bearerToken: "token\r\nX-Other: 1")
        job.credentialUse = .atOnce
        let error = try await CurlTransport.test().carry(job).error
        #expect(error?.reason == "the request's credential: its token has a control character")
        #expect(server.requests.values.isEmpty)
    }

    @Test func `schemes other than Basic take user names with a colon`() {
        for scheme in AuthenticationScheme.allCases where scheme != .basic {
            #expect(credential("us:er", "secret", scheme).fault == nil)
        }
        #expect(credential("user@host", "pass:word é").fault == nil)
    }
}

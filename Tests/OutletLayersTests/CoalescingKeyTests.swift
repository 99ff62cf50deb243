import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletLayers
@testable import OutletTransport

/// The properties that requests must have in common to share a transfer.
@Suite struct CoalescingKeyTests {
    private func job(_ change: (inout TransferJob) -> Void = { _ in }) -> TransferJob {
        var request = HTTPRequest(url: URL(string: "http://a.test/x?y=1"))
        request.headers = ["Accept": "text/plain", "X-Trace": "1"]
        var job = TransferJob(request: request)
        change(&job)
        return job
    }

    private func differs(_ change: (inout TransferJob) -> Void) -> Bool {
        guard let key = CoalescingKey(job()), let changed = CoalescingKey(job(change)) else {
            return false
        }
        return key != changed
    }

    private func isShared(_ change: (inout TransferJob) -> Void) -> Bool {
        CoalescingKey(job(change)) != nil
    }

    @Test func `equal requests have the same key`() {
        #expect(CoalescingKey(job()) != nil)
        #expect(CoalescingKey(job()) == CoalescingKey(job()))
    }

    @Test func `each property that changes the request or the response changes the key`() {
        #expect(differs { $0.request.method = .head })
        #expect(differs { $0.request.url = URL(string: "http://a.test/x?y=2") })
        #expect(differs { $0.request.url = URL(string: "http://a.test/z?y=1") })
        #expect(differs { $0.request.url = URL(string: "https://a.test/x?y=1") })
        #expect(differs { $0.request.url = URL(string: "http://b.test/x?y=1") })
        #expect(differs { $0.request.headers.update(name: "Accept", value: "text/html") })
        #expect(differs { $0.request.headers.remove(name: "X-Trace") })
        #expect(differs { $0.request.headers.append(name: "X-More", value: "1") })
        #expect(differs { $0.request.headers.append(name: "Accept", value: "text/plain") })
        #expect(differs { $0.request.headers.append(name: "Authorization", value: "Bearer t") })
        #expect(differs { $0.request.timeoutInterval = 7 })
        #expect(differs { $0.request.cachePolicy = .reloadIgnoringLocalCacheData })
        #expect(differs { $0.credential = Credential(user: "ada", password: "1") })
        #expect(differs { $0.request.httpShouldHandleCookies = false })
        #expect(differs { $0.firstURL = URL(string: "http://c.test/") })
    }

    @Test func `values with different bytes are different, also if their texts are equal`() {
        func key(_ bytes: [UInt8]) -> CoalescingKey? {
            CoalescingKey(
                job { $0.request.headers.append(HTTPHeader(name: "X", valueBytes: bytes)) })
        }
        let composed = key(Array("\u{E9}".utf8))
        #expect(composed != nil && composed == key([0xC3, 0xA9]))
        #expect(composed != key([0xE9]))
        #expect(composed != key(Array("e\u{301}".utf8)))
    }

    @Test func `a request with its own handler for cached responses is not shared`() {
        #expect(!isShared { $0.cachedResponseHandler = ResponseCacher.doNotCache })
    }

    @Test func `user, password and token of a credential change the key`() {
        func key(_ credential: Credential) -> CoalescingKey? {
            CoalescingKey(job { $0.credential = credential })
        }
        let own = Credential(user: "ada", password: "1")
        #expect(key(own) == key(Credential(user: "ada", password: "1")))
        #expect(key(own) != key(Credential(user: "ada", password: "2")))
        #expect(key(own) != key(Credential(user: "bob", password: "1")))
        #expect(key(own) != key(Credential(bearerToken: "1")))
    }

    @Test func `properties that change neither request nor response do not change the key`() {
        #expect(!differs { $0.request.url = URL(string: "http://a.test/x?y=1#part") })
        for name in ["X-Request-ID", "x-correlation-id", "Traceparent", "tracestate"] {
            #expect(!differs { $0.request.headers.append(name: name, value: "1") })
        }
        #expect(
            !differs { $0.request.headers = ["x-trace": "1", "ACCEPT": "text/plain"] })
        #expect(!differs { $0.reportsProgress = true })
    }

    @Test func `each change of what the stored cookies or credentials send changes the key`() throws
    {
        let cookies = CookieStorage()
        let credentials = CredentialStorage()
        var key: CoalescingKey? {
            CoalescingKey(job(), cookies: cookies, credentials: credentials)
        }
        /// Whether an action changes the key.
        func changes(_ action: () -> Void) -> Bool {
            let former = key
            action()
            return former == nil || key != former
        }
        let url = try #require(URL(string: "http://a.test/"))
        let cookie = try #require(
            Cookie.cookies(withResponseHeaderFields: ["Set-Cookie": "a=1"], for: url).first)
        #expect(!changes {})
        #expect(changes { cookies.setCookie(cookie) })
        #expect(!changes { cookies.setCookie(cookie) })
        #expect(changes { cookies.deleteCookie(cookie) })
        let space = ProtectionSpace(
            host: "a.test", port: 80, protocol: "http", realm: "r",
            authenticationMethod: AuthenticationScheme.basic.rawValue)
        let ann = Credential(user: "ann", password: "1")
        let bob = Credential(user: "bob", password: "1")
        #expect(changes { credentials.set(ann, for: space) })
        #expect(!changes { credentials.set(ann, for: space) })
        #expect(!changes { credentials.set(bob, for: space) })
        #expect(changes { credentials.setDefaultCredential(bob, for: space) })
        #expect(changes { credentials.set(Credential(user: "bob", password: "2"), for: space) })
        #expect(changes { credentials.remove(bob, for: space) })
    }

    @Test func `the order of repeated fields changes the key`() {
        func key(_ values: [String]) -> CoalescingKey? {
            CoalescingKey(
                job { job in
                    for value in values { job.request.headers.append(name: "X-A", value: value) }
                })
        }
        #expect(key(["1", "2"]) == key(["1", "2"]))
        #expect(key(["1", "2"]) != key(["2", "1"]))
    }

    @Test func `a request that needs its own transfer has no key`() {
        #expect(!isShared { $0.request.method = .post })
        #expect(!isShared { $0.request.method = .delete })
        #expect(!isShared { $0.request.body = .data(Data("x".utf8)) })
        #expect(!isShared { $0.delivery = .chunks })
        #expect(!isShared { $0.delivery = .file(path: "/nonexistent", offset: 0) })
        #expect(!isShared { $0.request.url = nil })
        let answer = GivenAnswer(status: 200, headers: HTTPHeaders(), body: Data())
        #expect(!isShared { $0.request.givenAnswer = answer })
        #expect(!isShared { $0.request.context.needsOwnTransfer = true })
        #expect(isShared { $0.request.context[CustomKey.self] = "x" })
    }
}

/// A custom value in a request's context.
private enum CustomKey: RequestContextKey { typealias Value = String }

import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletLayers
@testable import OutletTransport

/// What requests must have in common to share a transfer: each thing by itself.
@Suite struct CoalescingKeyTests {
    private func job(_ change: (inout TransferJob) -> Void = { _ in }) -> TransferJob {
        var request = HTTPRequest(url: URL(string: "http://a.test/x?y=1"))
        request.headers = ["Accept": "text/plain", "X-Trace": "1"]
        var job = TransferJob(request: request)
        change(&job)
        return job
    }

    private func differs(_ change: (inout TransferJob) -> Void) -> Bool {
        CoalescingKey(job()) != CoalescingKey(job(change))
    }

    private func isShared(_ change: (inout TransferJob) -> Void) -> Bool {
        CoalescingKey(job(change)) != nil
    }

    @Test func `equal requests have one key`() {
        #expect(CoalescingKey(job()) != nil)
        #expect(CoalescingKey(job()) == CoalescingKey(job()))
    }

    @Test func `each thing that changes what is sent, or got, makes another key`() {
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
    }

    @Test func `credentials differ by every part of them`() {
        func key(_ credential: Credential) -> CoalescingKey? {
            CoalescingKey(job { $0.credential = credential })
        }
        let own = Credential(user: "ada", password: "1")
        #expect(key(own) == key(Credential(user: "ada", password: "1")))
        #expect(key(own) != key(Credential(user: "ada", password: "2")))
        #expect(key(own) != key(Credential(user: "bob", password: "1")))
        #expect(key(own) != key(Credential(bearerToken: "1")))
    }

    @Test func `what changes neither is left out`() {
        #expect(!differs { $0.request.url = URL(string: "http://a.test/x?y=1#part") })
        for name in ["X-Request-ID", "x-correlation-id", "Traceparent", "tracestate"] {
            #expect(!differs { $0.request.headers.append(name: name, value: "1") })
        }
        #expect(
            !differs { $0.request.headers = ["x-trace": "1", "ACCEPT": "text/plain"] })
        #expect(!differs { $0.reportsProgress = true })
    }

    @Test func `repeated fields keep their order`() {
        func key(_ values: [String]) -> CoalescingKey? {
            CoalescingKey(
                job { job in
                    for value in values { job.request.headers.append(name: "X-A", value: value) }
                })
        }
        #expect(key(["1", "2"]) == key(["1", "2"]))
        #expect(key(["1", "2"]) != key(["2", "1"]))
    }

    @Test func `what is for one request alone is never shared`() {
        #expect(!isShared { $0.request.method = .post })
        #expect(!isShared { $0.request.method = .delete })
        #expect(!isShared { $0.request.body = .data(Data("x".utf8)) })
        #expect(!isShared { $0.delivery = .chunks })
        #expect(!isShared { $0.delivery = .file(path: "/nonexistent", offset: 0) })
        #expect(!isShared { $0.request.url = nil })
        let answer = GivenAnswer(status: 200, headers: HTTPHeaders(), body: Data())
        #expect(!isShared { $0.request.givenAnswer = answer })
        #expect(!isShared { $0.request.context.needsOwnTransfer = true })
        #expect(isShared { $0.request.context[Mine.self] = "x" })
    }
}

/// What somebody notes in a request.
private enum Mine: RequestContextKey { typealias Value = String }

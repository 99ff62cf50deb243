import OutletHTTP
import OutletSession
import OutletTesting
import Testing

@Suite struct `What a request's handlers hold` {
    @Test func `is let go of when they have run, also if it is the request`() async throws {
        weak var former: DataRequest?
        let session = Session(transport: StubTransport { _ in .text("x") })
        let seen = Events<Int>()
        do {
            let request = session.request("http://example.test/")
            request.response { _ in seen.append(request.retryCount) }
            try await seen.wait(for: 1)
            former = request
        }
        // The threads that finish it are on their way out.
        let deadline = ContinuousClock.now + .seconds(20)
        while former != nil, ContinuousClock.now < deadline { await Task.yield() }
        #expect(former == nil)
    }
}

import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTesting
import Testing

@Suite struct ProgressTests {
    let address = "http://example.test/bytes"

    private func answer(_ count: Int, headers: HTTPHeaders = HTTPHeaders()) -> StubAnswer {
        StubAnswer(headers: headers, body: Data(count: count), chunkSize: 10)
    }

    private func post(_ count: Int) -> HTTPRequest {
        HTTPRequest(
            url: URL(string: address), method: .post, body: .data(Data(count: count)))
    }

    @Test func `a download's progress is told once per chunk and ends at the whole`()
        async throws
    {
        let session = Session(transport: StubTransport(answers: [answer(35)]))
        let seen = Events<TransferProgress>()
        let request = session.request(address).downloadProgress { seen.append($0) }
        _ = await request.serializingData().response
        let values = try await seen.wait(for: 4)
        #expect(values.map(\.completedUnitCount) == [10, 20, 30, 35])
        #expect(values.map(\.totalUnitCount) == [35, 35, 35, 35])
        #expect(values.last?.fractionCompleted == 1)
        #expect(values.map(\.isFinished) == [false, false, false, true])
        #expect(request.downloadProgress.fractionCompleted == 1)
    }

    @Test func `an unknown total is -1 and has no fraction`() {
        let progress = TransferProgress(completedUnitCount: 5, totalUnitCount: -1)
        #expect(progress.fractionCompleted == 0)
        #expect(!progress.isFinished)
        #expect(progress.isIndeterminate)
    }

    @Test func `an upload's progress ends at the whole`() async throws {
        let session = Session(transport: StubTransport(answers: [.status(204)]))
        let seen = Events<TransferProgress>()
        let request = session.request(post(40_000)).uploadProgress { seen.append($0) }
        _ = await request.serializingData().response
        let values = try await seen.wait(for: 3)
        #expect(values.map(\.completedUnitCount) == [16_384, 32_768, 40_000])
        #expect(values.last?.isFinished == true)
        #expect(request.uploadProgress == values.last)
    }

    @Test func `the last closure set is the one that is called, on its queue`() async throws {
        let session = Session(transport: StubTransport(answers: [answer(5)]))
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "progress")
        queue.setSpecific(key: key, value: true)
        let first = Events<Int>()
        let second = Events<Bool?>()
        let request = session.request(address)
            .downloadProgress { _ in first.append(1) }
            .downloadProgress(queue: queue) { _ in
                second.append(DispatchQueue.getSpecific(key: key))
            }
        _ = await request.serializingData().response
        #expect(try await second.wait(for: 1) == [true])
        #expect(first.values.isEmpty)
    }

    @Test func `progress asked for while the transfer is under way is told from then on`()
        async throws
    {
        let session = Session(transport: StubTransport(answers: [answer(35)]))
        let seen = Events<TransferProgress>()
        let request = session.request(address)
        request.onHTTPResponse { [weak request] _ in
            request?.downloadProgress { seen.append($0) }
        }
        _ = await request.serializingData().response
        #expect(try await seen.wait(for: 4).last?.fractionCompleted == 1)
    }

    @Test func `a redirect's body is not part of the progress`() async throws {
        let session = Session(
            transport: StubTransport(answers: [
                StubAnswer(statusCode: 302, headers: ["Location": "/to"], body: Data(count: 1000)),
                answer(20),
            ]))
        let seen = Events<Int64>()
        let request = session.request(address)
            .downloadProgress { seen.append($0.completedUnitCount) }
        _ = await request.serializingData().response
        try await seen.wait(for: 2)
        #expect(seen.values == [10, 20])
    }

    @Test func `a retry begins at nothing again`() async throws {
        var broken = answer(30)
        broken.error = TransferError(code: .networkConnectionLost, reason: "lost")
        broken.failureOffset = 20
        let session = Session(
            transport: StubTransport(answers: [broken, answer(30)]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let seen = Events<Int64>()
        let request = session.request(address)
            .downloadProgress { seen.append($0.completedUnitCount) }
        _ = await request.serializingData().response
        try await seen.wait(for: 5)
        #expect(seen.values == [10, 20, 10, 20, 30])
    }

    @Test func `a finished request that nobody watched still tells how much there was`() async {
        let session = Session(transport: StubTransport(answers: [answer(35)]))
        let request = session.request(address)
        _ = await request.serializingData().response
        #expect(
            request.downloadProgress
                == TransferProgress(completedUnitCount: 35, totalUnitCount: 35))
    }
}

import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests bodies that are read from a stream, on a thread that may block.
@Suite(.timeLimit(.minutes(patience))) struct ResponseInputStreamTests {
    private let address = "http://example.test/body"
    private let sessions = KeptSessions()

    private func session(_ answers: StubAnswer...) -> Session {
        sessions.make(StubTransport(answers: answers))
    }

    /// Reads to the end, at most `size` bytes per call, on a separate thread.
    private func read(
        _ stream: ResponseInputStream, by size: Int = 3
    ) async throws -> (bytes: [UInt8], last: Int) {
        let result = Once<(bytes: [UInt8], last: Int)>()
        try onOwnThread {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: size)
            stream.open()
            while true {
                let count = buffer.withUnsafeMutableBufferPointer { buffer in
                    buffer.baseAddress.map { stream.read($0, maxLength: size) } ?? -1
                }
                guard count > 0 else {
                    result.set((bytes, count))
                    return
                }
                bytes += buffer.prefix(count)
            }
        }
        return try await result.value()
    }

    /// Reads one byte on a separate thread; threads of tests must not block.
    private func readByte(_ stream: ResponseInputStream) async throws -> (count: Int, byte: UInt8) {
        let result = Once<(count: Int, byte: UInt8)>()
        try onOwnThread {
            var byte: UInt8 = 0
            let count = stream.read(&byte, maxLength: 1)
            result.set((count, byte))
        }
        return try await result.value()
    }

    @Test func `all bytes are read in order, followed by the end`() async throws {
        let body = Data((0..<100).map { UInt8($0) })
        let session = session(StubAnswer(body: body, chunkSize: 7))
        let stream = try #require(session.streamRequest(address).asInputStream())
        #expect(stream.streamStatus == .notOpen && !stream.hasBytesAvailable)
        let (bytes, last) = try await read(stream)
        #expect(Data(bytes) == body && last == 0)
        #expect(stream.streamStatus == .atEnd && stream.streamError == nil)
        #expect(!stream.hasBytesAvailable)
    }

    @Test func `a stream that is not open or is closed cannot be read`() async throws {
        let session = session(StubAnswer(body: Data("x".utf8)))
        let stream = try #require(session.streamRequest(address).asInputStream())
        #expect(try await readByte(stream).count == -1)
        stream.open()
        #expect(try await readByte(stream) == (1, UInt8(ascii: "x")))
        stream.close()
        #expect(try await readByte(stream).count == -1)
        #expect(stream.streamStatus == .closed && stream.streamError == nil)
        stream.open()
        #expect(stream.streamStatus == .closed)
    }

    @Test func `a failure is reported after the bytes received before it`() async throws {
        var broken = StubAnswer(body: Data("0123456789".utf8), chunkSize: 2)
        broken.error = TransferErrors.lost
        broken.failureOffset = 6
        let stream = try #require(session(broken).streamRequest(address).asInputStream())
        let (bytes, last) = try await read(stream, by: 4)
        #expect(String(decoding: bytes, as: UTF8.self) == "012345" && last == -1)
        let error = stream.streamError as? SessionError
        #expect(error?.transferError?.code == .networkConnectionLost)
        #expect(stream.streamStatus == .error)
    }

    @Test func `a response that fails validation is an error`() async throws {
        let session = session(.status(404))
        let stream = try #require(session.streamRequest(address).validate().asInputStream())
        #expect(try await read(stream).last == -1)
        #expect((stream.streamError as? SessionError)?.responseCode == 404)
    }

    @Test func `a cancel ends a waiting read`() async throws {
        let asked = Recorder<Bool>()
        let session = sessions.make(
            StubTransport { _ in
                asked.record(true)
                return StubAnswer(delay: nil)
            })
        let request = session.streamRequest(address)
        let stream = try #require(request.asInputStream())
        async let outcome = read(stream)
        try await asked.values(1)
        request.cancel()
        #expect(try await outcome.last == -1)
        #expect(stream.streamError as? SessionError == .explicitlyCancelled)
    }

    @Test func `closing the stream ends a waiting read`() async throws {
        let session = session(StubAnswer(delay: nil))
        let stream = try #require(session.streamRequest(address).asInputStream())
        async let outcome = read(stream)
        stream.close()
        #expect(try await outcome.last == -1)
        #expect(stream.streamStatus == .closed)
    }

    @Test func `a read ends at its timeout`() async throws {
        let session = session(StubAnswer(delay: nil))
        let stream = try #require(
            session.streamRequest(address).asInputStream(readTimeout: 0.01))
        #expect(try await read(stream).last == -1)
        #expect((stream.streamError as? TransferError)?.code == .timedOut)
    }

    @Test func `unread bytes suspend the transfer`() async throws {
        var configuration = SessionConfiguration()
        configuration.streamBufferSize = 4 * (4 + 64)
        let session = Session(
            transport: StubTransport(
                answers: [StubAnswer(body: Data(count: 400), chunkSize: 4)]),
            configuration: configuration)
        let passed = Recorder<Int64>()
        let request = session.streamRequest(address, shouldAutomaticallyResume: false)
        request.downloadProgress(queue: DispatchQueue(label: "progress")) {
            passed.record($0.completedUnitCount)
        }
        let stream = try #require(request.asInputStream(bufferSize: 20))
        // 20 bytes in the stream's buffer, which count as read, four chunks that do not, each of which
        // counts as 64 bytes more, and the chunk that exceeds the limit.
        try await passed.values(10)
        #expect((passed.values.last ?? 0) <= 20 + 16 + 4)
        #expect(try await read(stream).bytes.count == 400)
    }

    @Test func `a stream that is released does not delay the request`() async throws {
        var configuration = SessionConfiguration()
        configuration.streamBufferSize = 16
        let session = Session(
            transport: StubTransport(
                answers: [StubAnswer(body: Data(count: 400), chunkSize: 4)]),
            configuration: configuration)
        let ended = Recorder<SessionError?>()
        let counts = Recorder<Int>()
        let made = session.streamRequest(address, shouldAutomaticallyResume: false)
        let request = made.responseStream { stream in
            if let value = stream.value { counts.record(value.count) }
            if let completion = stream.completion { ended.record(completion.error) }
        }
        #expect(request.asInputStream() != nil)
        #expect(try await ended.values(1) == [nil])
        #expect(counts.values.reduce(0, +) == 400)
    }

    @Test func `a retry before the first read returns the body of the last attempt`()
        async throws
    {
        var broken = StubAnswer(body: Data("01234567".utf8), chunkSize: 2)
        broken.error = TransferErrors.lost
        broken.failureOffset = 6
        let session = Session(
            transport: StubTransport(
                answers: [broken, StubAnswer(body: Data("abcdef".utf8), chunkSize: 2)]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let request = session.streamRequest(address, shouldAutomaticallyResume: false)
        let ended = Recorder<Bool>()
        request.responseStream { if $0.completion != nil { ended.record(true) } }
        let stream = try #require(request.asInputStream())
        try await ended.values(1)
        #expect(String(decoding: try await read(stream).bytes, as: UTF8.self) == "abcdef")
        let late = try #require(request.asInputStream())
        #expect(try await read(late).last == -1)
        #expect("\(String(describing: late.streamError))".contains("was over before"))
    }

    @Test func `a retry after the first read is an error`() async throws {
        var broken = StubAnswer(body: Data("01234567".utf8), chunkSize: 2)
        broken.error = TransferErrors.lost
        broken.failureOffset = 6
        let read = Recorder<Bool>()
        let session = Session(
            transport: StubTransport(
                answers: [broken, StubAnswer(body: Data("abcdef".utf8), chunkSize: 2)]),
            interceptor: Retrier { _, _, _, completion in
                Task {
                    _ = try? await read.values(1)
                    completion(.retry)
                }
            })
        let stream = try #require(session.streamRequest(address).asInputStream())
        stream.open()
        #expect(try await readByte(stream).count == 1)
        read.record(true)
        let (bytes, last) = try await self.read(stream)
        #expect(String(decoding: bytes, as: UTF8.self).allSatisfy(\.isNumber) && last == -1)
        #expect("\(String(describing: stream.streamError))".contains("made again"))
    }

    @Test func `the first handler of a request that has ended can be a stream`() async throws {
        let session = session(StubAnswer(body: Data("0123456789".utf8), chunkSize: 4))
        let request = session.streamRequest(address, shouldAutomaticallyResume: false).resume()
        while !request.isFinished, !Task.isCancelled { await Task.yield() }
        let stream = try #require(request.asInputStream())
        let (bytes, last) = try await read(stream)
        #expect(String(decoding: bytes, as: UTF8.self) == "0123456789" && last == 0)
    }

    @Test func `monitors get the bytes of an input stream`() async throws {
        final class Monitor: EventMonitor {
            let counts = Recorder<Int>()
            let queue = DispatchQueue(label: "monitor")
            func request<Value: Sendable>(
                _ request: DataStreamRequest, didParseStream result: Result<Value, SessionError>
            ) {
                if case .success(let value) = result, let data = value as? Data {
                    counts.record(data.count)
                }
            }
        }
        let monitor = Monitor()
        let session = Session(
            transport: StubTransport(
                answers: [StubAnswer(body: Data(count: 6), chunkSize: 3)]),
            eventMonitors: [monitor])
        let stream = try #require(session.streamRequest(address).asInputStream())
        _ = try await read(stream)
        #expect(try await monitor.counts.values(2) == [3, 3])
    }
}

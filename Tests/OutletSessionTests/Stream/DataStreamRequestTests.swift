import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct DataStreamRequestTests {
    let address = "http://example.test/stream"

    private func answer(_ text: String, chunk: Int = 4, status: Int = 200) -> StubAnswer {
        StubAnswer(
            statusCode: status, headers: ["Content-Type": "text/plain"], body: Data(text.utf8),
            chunkSize: chunk)
    }

    private func session(_ answers: StubAnswer...) -> Session {
        Session(transport: StubTransport(answers: answers))
    }

    /// Returns a text for an event.
    private func line<Value, Failure>(
        _ stream: DataStreamRequest.Stream<Value, Failure>
    ) -> String {
        switch stream.event {
        case .stream(.success(let value as Data)): String(decoding: value, as: UTF8.self)
        case .stream(.success(let value)): "\(value)"
        case .stream(.failure): "failure"
        case .complete(let completion):
            completion.error.map { "error \($0)" }
                ?? "end \(completion.response?.statusCode ?? 0)"
        }
    }

    @Test(arguments: [Session.CallbackDelivery.queued, .inline])
    func `pieces are delivered in order, followed by one completion`(
        delivery: Session.CallbackDelivery
    ) async throws {
        let transport = StubTransport(answers: [answer("0123456789")])
        let session = Session(transport: transport, delivery: delivery)
        let seen = Recorder<String>()
        session.streamRequest(address).responseStream { seen.record(line($0)) }
        #expect(try await seen.values(4) == ["0123", "4567", "89", "end 200"])
        #expect(transport.jobs.map(\.delivery) == [.chunks])
    }

    @Test func `every handler gets every piece in order, even on a concurrent queue`()
        async throws
    {
        let session = session(answer(String(repeating: "0123456789", count: 10), chunk: 1))
        let first = Recorder<String>()
        let second = Recorder<String>()
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        session.streamRequest(address, shouldAutomaticallyResume: false)
            .responseStream(on: queue) { first.record(line($0)) }
            .responseStreamString(on: queue) { second.record(line($0)) }
            .resume()
        let expected = Array(repeating: (0...9).map(String.init), count: 10).flatMap(\.self)
        #expect(try await first.values(101).dropLast() == expected[...])
        #expect(try await second.values(101).dropLast() == expected[...])
    }

    /// Notes each piece, and returns it unchanged.
    private struct Noting: DataStreamSerializer {
        let noted = Recorder<Data>()

        func serialize(_ data: Data) throws -> Data {
            noted.record(data)
            return data
        }
    }

    @Test func `a concurrent queue gets one event at a time also with a serialization queue`()
        async throws
    {
        let text = String(repeating: "0123456789", count: 10)
        let session = Session(
            transport: StubTransport(answers: [answer(text, chunk: 1)]),
            serializationQueue: DispatchQueue(label: "serializes"))
        let serializer = Noting()
        let gate = try Gate()
        let seen = Recorder<String>()
        session.streamRequest(address).responseStream(
            using: serializer, on: DispatchQueue(label: "concurrent", attributes: .concurrent)
        ) { stream in
            let name = line(stream)
            seen.record("begin \(name)")
            // Until all other pieces could be delivered.
            #expect(gate.isOpen(within: .seconds(60)))
            seen.record("end \(name)")
        }
        try await serializer.noted.values(100)
        gate.open()
        let expected = (text.map { String($0) } + ["end 200"])
            .flatMap { ["begin \($0)", "end \($0)"] }
        #expect(try await seen.values(202) == expected)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [false, true])
    func `a handler fails or cancels the request also with a serialization queue`(
        cancels: Bool
    ) async throws {
        let session = Session(
            transport: StubTransport(answers: [answer("0123456789", chunk: 1)]),
            serializationQueue: DispatchQueue(label: "serializes"))
        let serializer = Noting()
        let seen = Recorder<String>()
        let error = Once<SessionError?>()
        let gate = try Gate()
        session.streamRequest(address).responseStream(
            using: serializer, on: DispatchQueue(label: "handles")
        ) { stream in
            if let completion = stream.completion { error.set(completion.error) }
            guard stream.value != nil else { return }
            seen.record(line(stream))
            // Until all pieces wait for the handler.
            #expect(gate.isOpen(within: .seconds(60)))
            if cancels { stream.cancel() } else { throw TestSupportError("no more") }
        }
        try await serializer.noted.values(10)
        gate.open()
        let end = try await error.value()
        #expect(cancels ? end?.isExplicitlyCancelledError == true : end != nil)
        #expect(seen.values == ["0"])
        withExtendedLifetime(session) {}
    }

    // MARK: Before the first handler

    @Test(arguments: [false, true])
    func `pieces that arrive before the first handler are kept for it`(isOver: Bool) async throws {
        let gate = StubGate()
        let text = answer("0123456789")
        let session = session(isOver ? text : text.waiting(atByte: 8, for: gate))
        let passed = Recorder<Int64>()
        let request = session.streamRequest(address, shouldAutomaticallyResume: false)
        request.downloadProgress { passed.record($0.completedUnitCount) }
        request.resume()
        try await passed.values(2)
        while isOver, !request.isFinished, !Task.isCancelled { await Task.yield() }
        let (seen, late) = (Recorder<String>(), Recorder<String>())
        request.responseStream { seen.record(line($0)) }
        request.responseStream { late.record(line($0)) }
        gate.open()
        #expect(try await seen.values(4) == ["0123", "4567", "89", "end 200"])
        #expect(try await late.values(isOver ? 1 : 2) == (isOver ? [] : ["89"]) + ["end 200"])
    }

    @Test func `without a handler the transfer is suspended at the limit`() async throws {
        var configuration = SessionConfiguration()
        configuration.streamBufferSize = 4 * (4 + 64)
        for isCancelled in [false, true] {
            let session = Session(
                transport: StubTransport(answers: [answer(String(repeating: "x", count: 400))]),
                configuration: configuration)
            let passed = Recorder<Int64>()
            let request = session.streamRequest(address, shouldAutomaticallyResume: false)
            request.downloadProgress { passed.record($0.completedUnitCount) }
            request.resume()
            try await passed.values(5)
            // Calling `resume()` from outside does not lift the limit.
            request.suspend()
            request.resume()
            if isCancelled { request.cancel() }
            #expect((passed.values.last ?? 0) <= 24)
            let seen = Recorder<Int>()
            let ended = Recorder<SessionError?>()
            request.responseStream { stream in
                if let value = stream.value { seen.record(value.count) }
                if let completion = stream.completion { ended.record(completion.error) }
            }
            #expect(
                try await ended.values(1)[0]?.isExplicitlyCancelledError
                    == (isCancelled ? true : nil))
            #expect(seen.values.reduce(0, +) == (isCancelled ? 0 : 400))
            withExtendedLifetime(session) {}
        }
    }

    @Test func `the body of a redirect that is not followed is kept for the first handler`()
        async throws
    {
        let session = session(
            StubAnswer(
                statusCode: 302, headers: ["Location": "/to"], body: Data("redirect".utf8)))
        let request = session.streamRequest(address, shouldAutomaticallyResume: false)
            .redirect(using: .doNotFollow).resume()
        while !request.isFinished, !Task.isCancelled { await Task.yield() }
        let seen = Recorder<String>()
        request.responseStream { seen.record(line($0)) }
        #expect(try await seen.values(2) == ["redirect", "end 302"])
    }

    @Test func `only the pieces of the last attempt are kept for the first handler`() async throws {
        var broken = answer("01234567")
        broken.error = TransferErrors.lost
        broken.failureOffset = 6
        let session = Session(
            transport: StubTransport(answers: [broken, answer("abcdefgh")]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let request = session.streamRequest(address, shouldAutomaticallyResume: false).resume()
        while !request.isFinished, !Task.isCancelled { await Task.yield() }
        let seen = Recorder<String>()
        request.responseStream { seen.record(line($0)) }
        #expect(try await seen.values(3) == ["abcd", "efgh", "end 200"])
    }

    @Test(arguments: [false, true])
    func `a first handler that cannot read the response gets no piece of it`(isOver: Bool)
        async throws
    {
        let gate = StubGate()
        let text = answer("data: x\n\ndata: y\n\n")
        let session = session(isOver ? text : text.waiting(atByte: 12, for: gate))
        let passed = Recorder<Int64>()
        let request = session.streamRequest(address, shouldAutomaticallyResume: false)
        request.downloadProgress { passed.record($0.completedUnitCount) }
        request.resume()
        try await passed.values(3)
        while isOver, !request.isFinished, !Task.isCancelled { await Task.yield() }
        let seen = Recorder<String>()
        request.responseStreamServerSentEvents { stream in
            let error = stream.completion?.error?.underlyingError as? ServerSentEventError
            seen.record(
                error == .notAnEventStream(statusCode: 200, contentType: "text/plain")
                    ? "refused" : "\(stream.event)")
        }
        // With the gate closed: the rest of the body is not waited for.
        #expect(try await seen.values(1) == ["refused"])
        gate.open()
    }

    @Test func `a response without a body delivers only the completion`() async throws {
        let seen = Recorder<String>()
        let session = session(.status(204))
        session.streamRequest(address).responseStream { seen.record(line($0)) }
        #expect(try await seen.values(1) == ["end 204"])
    }

    @Test func `a character split across pieces is decoded, and an incomplete one is replaced`()
        async throws
    {
        var bytes = Data("aé€😀".utf8)
        bytes.append(0xE2)
        let session = session(StubAnswer(body: bytes, chunkSize: 1))
        let seen = Recorder<String>()
        session.streamRequest(address).responseStreamString { seen.record(line($0)) }
        #expect(try await seen.values(6) == ["a", "é", "€", "😀", "\u{FFFD}", "end 200"])
    }

    @Test func `a piece that cannot be decoded is delivered as a failure`() async throws {
        let session = session(answer("1234x678", chunk: 4))
        let seen = Recorder<String>()
        session.streamRequest(address).responseStreamDecodable(of: Int.self) {
            seen.record(line($0))
        }
        #expect(try await seen.values(3) == ["1234", "failure", "end 200"])
    }

    @Test func `a serialization failure cancels the request with automaticallyCancelOnStreamError`()
        async throws
    {
        let session = session(answer("x234" + "5678" + "9012", chunk: 4))
        let seen = Recorder<String>()
        session.streamRequest(address, automaticallyCancelOnStreamError: true)
            .responseStreamDecodable(of: Int.self) { seen.record(line($0)) }
        #expect(
            try await seen.values(2) == ["failure", "error \(SessionError.explicitlyCancelled)"])
    }

    /// Passes pieces on; fails at one with an `x`, and then opens a gate from its queue.
    private struct Failing: DataStreamSerializer {
        let queue: DispatchQueue
        let gate: Gate

        func serialize(_ data: Data) throws -> Data {
            guard data.contains(UInt8(ascii: "x")) else { return data }
            // After this piece is processed.
            queue.async { gate.open() }
            throw Refused()
        }
    }

    @Test(arguments: [false, true])
    func `a failure that cancels is delivered with all values before it`(
        isOneQueue: Bool
    ) async throws {
        let queue = DispatchQueue(label: "serializes")
        let gate = try Gate()
        let session = Session(
            transport: StubTransport(answers: [answer("12345678x012" + "3456", chunk: 4)]),
            serializationQueue: queue)
        let seen = Recorder<String>()
        session.streamRequest(address, automaticallyCancelOnStreamError: true).responseStream(
            using: Failing(queue: queue, gate: gate), on: isOneQueue ? queue : nil
        ) { stream in
            // Until the failure was found, while its values wait for this queue.
            if !isOneQueue { #expect(gate.isOpen(within: .seconds(60))) }
            seen.record(line(stream))
        }
        let expected = ["1234", "5678", "failure", "error \(SessionError.explicitlyCancelled)"]
        #expect(try await seen.values(4) == expected)
        withExtendedLifetime(session) {}
    }

    @Test func `a handler that throws ends the request with its error`() async throws {
        struct Enough: Error {}
        let session = session(answer("01234567"))
        let seen = Recorder<SessionError?>()
        session.streamRequest(address).responseStream { stream in
            if let completion = stream.completion {
                seen.record(completion.error)
            } else {
                throw Enough()
            }
        }
        let error = try await seen.values(1)[0]
        guard case .responseSerializationFailed(.customSerializationFailed(let inner))? = error
        else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(inner is Enough)
        #expect(seen.values.count == 1)
    }

    @Test func `cancelling with the stream's token ends the request without another piece`()
        async throws
    {
        let session = session(answer("0123456789"))
        let seen = Recorder<String>()
        session.streamRequest(address).responseStream { stream in
            seen.record(line(stream))
            stream.cancel()
        }
        #expect(
            try await seen.values(2) == ["0123", "error \(SessionError.explicitlyCancelled)"])
    }

    @Test func `a cancel before the start completes once`() async throws {
        let session = session(answer("0123"))
        let seen = Recorder<String>()
        session.streamRequest(address, shouldAutomaticallyResume: false)
            .responseStream { seen.record(line($0)) }.cancel()
        #expect(try await seen.values(1) == ["error \(SessionError.explicitlyCancelled)"])
    }

    @Test func `a handler added to a finished request gets the completion`() async throws {
        let session = session(answer("0123"))
        let seen = Recorder<String>()
        let request = session.streamRequest(address).responseStream { seen.record(line($0)) }
        try await seen.values(2)
        request.responseStream { seen.record(line($0)) }
        #expect(try await seen.values(3).last == "end 200")
    }

    @Test func `a redirect's body is delivered only if the redirect is not followed`() async throws
    {
        let redirect = StubAnswer(
            statusCode: 302, headers: ["Location": "/to"], body: Data("redirect".utf8))
        for (handler, expected) in [
            (Redirector.follow, ["0123", "end 200"]),
            (.modify { _, request, _ in request }, ["0123", "end 200"]),
            (.doNotFollow, ["redirect", "end 302"]),
            (.modify { _, _, _ in nil }, ["redirect", "end 302"]),
        ] {
            let session = session(redirect, answer("0123"))
            let seen = Recorder<String>()
            session.streamRequest(address).redirect(using: handler)
                .responseStream { seen.record(line($0)) }
            #expect(try await seen.values(2) == expected)
        }
    }

    @Test func `a response that fails validation completes with the error`() async throws {
        let session = session(answer("no", status: 404))
        let seen = Recorder<Int?>()
        session.streamRequest(address).validate().responseStream { stream in
            if let completion = stream.completion { seen.record(completion.error?.responseCode) }
        }
        #expect(try await seen.values(1) == [404])
    }

    @Test func `the content type is validated even without a body`() async throws {
        let session = session(.status(200, headers: ["Content-Type": "text/plain"]))
        let seen = Recorder<String?>()
        session.streamRequest(address).validate(contentType: ["image/png"])
            .responseStream { seen.record($0.completion?.error?.responseContentType) }
        #expect(try await seen.values(1) == ["text/plain"])
    }

    @Test func `cancelling at the head delivers no piece`() async throws {
        let session = session(answer("0123"))
        let seen = Recorder<String>()
        session.streamRequest(address)
            .onHTTPResponse { (_, completionHandler) in completionHandler(.cancel) }
            .responseStream { seen.record(line($0)) }
        #expect(try await seen.values(1) == ["error \(SessionError.explicitlyCancelled)"])
    }

    @Test func `a retry delivers the pieces again`() async throws {
        var broken = answer("01234567")
        broken.error = TransferErrors.lost
        broken.failureOffset = 6
        let session = Session(
            transport: StubTransport(answers: [broken, answer("01234567")]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let seen = Recorder<String>()
        session.streamRequest(address).responseStream { seen.record(line($0)) }
        #expect(try await seen.values(5) == ["0123", "45", "0123", "4567", "end 200"])
    }

    // MARK: Back-pressure

    @Test func `a slow handler suspends the transfer`() async throws {
        var configuration = SessionConfiguration()
        configuration.streamBufferSize = 4 * (4 + 64)
        let session = Session(
            transport: StubTransport(answers: [answer(String(repeating: "x", count: 400))]),
            configuration: configuration)
        let (first, second) = (try Gate(), try Gate())
        let passed = Recorder<Int64>()
        let done = Recorder<Int>()
        let pieces = Recorder<Int>()
        let request = session.streamRequest(address, shouldAutomaticallyResume: false)
        request.downloadProgress(queue: DispatchQueue(label: "progress")) {
            passed.record($0.completedUnitCount)
        }
        request.responseStream(on: DispatchQueue(label: "slow")) { stream in
            let gate = pieces.values.count < 10 ? first : second
            #expect(gate.isOpen(within: .seconds(60)))
            if let value = stream.value { pieces.record(value.count) } else { done.record(1) }
        }
        request.resume()
        try await passed.values(5)
        // Calling `resume()` from outside does not lift the buffer's limit.
        request.suspend()
        request.resume()
        first.open()
        try await pieces.values(10)
        #expect((passed.values.last ?? 0) <= 10 * 4 + 16 + 8)
        second.open()
        try await done.values(1)
        #expect(pieces.values.reduce(0, +) == 400)
    }

    /// A piece that waits takes far more memory than a byte.
    @Test func `a slow handler of tiny pieces suspends the transfer early`() async throws {
        var configuration = SessionConfiguration()
        configuration.streamBufferSize = 1000
        let session = Session(
            transport: StubTransport(
                answers: [answer(String(repeating: "x", count: 5000), chunk: 1)]),
            configuration: configuration)
        let gate = try Gate()
        let (passed, done) = (Recorder<Int64>(), Recorder<Int>())
        let pieces = Recorder<Int>()
        let request = session.streamRequest(address, shouldAutomaticallyResume: false)
        request.downloadProgress(queue: DispatchQueue(label: "progress")) {
            passed.record($0.completedUnitCount)
        }
        request.responseStream(on: DispatchQueue(label: "slow")) { stream in
            if pieces.values.count == 100 { #expect(gate.isOpen(within: .seconds(60))) }
            if let value = stream.value { pieces.record(value.count) } else { done.record(1) }
        }
        request.resume()
        try await pieces.values(100)
        try await passed.values(100)
        #expect((passed.values.last ?? 0) <= 100 + 1000 / 64 + 1)
        gate.open()
        try await done.values(1)
        #expect(pieces.values.reduce(0, +) == 5000)
    }

    @Test func `a slow loop suspends the transfer`() async throws {
        var configuration = SessionConfiguration()
        configuration.streamBufferSize = 4 * (4 + 64)
        let session = Session(
            transport: StubTransport(answers: [answer(String(repeating: "x", count: 400))]),
            configuration: configuration)
        let request = session.streamRequest(address)
        let passed = Recorder<Int64>()
        request.downloadProgress { passed.record($0.completedUnitCount) }
        var total = 0
        for await stream in request.streamTask().streamingData() {
            if total == 0 {
                try await passed.values(5)
                #expect((passed.values.last ?? 0) <= 24)
            }
            total += stream.value?.count ?? 0
        }
        #expect(total == 400)
    }
}

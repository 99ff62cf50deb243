import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct RequestLoggerTests {
    let address = "http://u:pw@api.test/a?token=hidden&q=a+b"
    let lines = Recorder<String>()

    private func session(
        _ answers: StubAnswer..., level: RequestLogger.Level,
        format: RequestLogger.Format = .json, hiding: Set<String> = [],
        interceptor: (any RequestInterceptor)? = nil
    ) -> Session {
        let lines = lines
        let logger = RequestLogger(
            to: LogSink { lines.record($0) }, level: level, format: format, hiding: hiding)
        return Session(
            transport: StubTransport(answers: answers), interceptor: interceptor,
            eventMonitors: [logger])
    }

    @Test func `a finished request is logged as one line of JSON without secrets`() async throws {
        let session = session(.text("abc"), level: .info)
        let request = session.request(address)
        _ = await request.serializingString().response
        let line = try await lines.values(1)[0]
        #expect(line.last == "\n" && line.count { $0 == "\n" } == 1)
        let value = try JSONValue(parsing: Data(line.utf8))
        #expect(value["level"] == "info")
        #expect(value["event"] == "request")
        #expect(value["id"]?.stringValue == request.id.uuidString)
        #expect(value["method"] == "GET")
        #expect(value["url"] == "http://•••@api.test/a?token=•••&q=a+b")
        #expect(value["status"] == 200)
        #expect(value["attempt"] == 1)
        #expect(value["bytes_received"] == 3)
        #expect(value["reused"] == false)
        #expect(value["duration_ms"]?.doubleValue != nil)
        #expect(value["time"]?.stringValue?.hasSuffix("Z") == true)
        #expect(value["error"] == nil)
    }

    @Test func `a failure is logged as error, and a retry as warning`() async throws {
        let lost = TransferError(
            code: .networkConnectionLost, reason: "lost http://u:secret@h/?token=x")
        let session = session(
            .failure(lost), level: .warning,
            interceptor: RetryPolicy(
                retryLimit: 1, exponentialBackoffScale: 0))
        _ = await session.request(address).serializingString().response
        let values = try await lines.values(2).map { try JSONValue(parsing: Data($0.utf8)) }
        #expect(values.map { $0["event"] } == ["retry", "request"])
        #expect(values.map { $0["level"] } == ["warning", "error"])
        #expect(try values.at(1)["error"] == "lost http://•••@h/?token=•••")
        #expect(try values.at(1)["attempt"] == 2)
    }

    @Test func `transfers and redirects are logged at the level debug`() async throws {
        let session = session(
            .redirect(to: "/b?password=x"), .text("y"), level: .debug, format: .logfmt,
            hiding: ["Q"])
        _ = await session.request(address).serializingString().response
        let seen = try await lines.values(5)
        #expect(
            seen.map { $0.split(separator: " ")[2] } == [
                "event=resume", "event=start", "event=transfer", "event=transfer", "event=request",
            ])
        #expect(try seen.at(2).contains(" status=302 "))
        #expect(try seen.at(2).contains(#" location="/b?password=•••""#))
        #expect(try seen.at(3).contains(#"api.test/b?password=•••""#))
        #expect(try seen.at(4).contains(" redirects=1"))
        #expect(seen.allSatisfy { !$0.contains("a+b") })
    }

    @Test func `lines are written to a file descriptor`()
        async throws
    {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer {
            close(ends[0])
            close(ends[1])
        }
        let logger = RequestLogger(to: .fileDescriptor(ends[1]))
        let session = Session(
            transport: StubTransport { _ in .status(204) }, eventMonitors: [logger])
        _ = await session.request(address).serializingUnserialized().response
        await logger.queue.drained()
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &bytes, bytes.count)
        #expect(String(decoding: bytes.prefix(count), as: UTF8.self).contains("\"status\":204"))
    }
}

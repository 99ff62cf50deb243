import OutletCurl
import OutletHTTP
import OutletPluginHost
import OutletProvider
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTesting
import Testing

/// Calls of the host that it refuses are logged in the plugin's name.
@Suite(.timeLimit(.minutes(patience))) struct RefusedCallTests {
    private static func host(_ call: String, _ recorder: ActivityRecorder) throws -> PluginHost {
        try PluginFolder(faulty: "RefusedCalls").load(
            configuration: ["faulty.refused-calls": #"{"call": "\#(call)"}"#], observer: recorder)
    }

    @Test(
        arguments: [
            ("url", "request_set_url", "its url is null, but has a length", "prepare"),
            ("port", "request_set_url", "the URL has no valid host or port", "prepare"),
            ("method", "request_set_method", "its method is null, but has a length", "prepare"),
            (
                "attribute", "request_set_attr",
                "its value has 70000 bytes, at most 65536 are allowed", "prepare"
            ), ("watch", "watch_response", "its piece is null", "prepare"),
            (
                "body", "send_body",
                "its length is 18446744073709551614, which is none that it may be", "prepare"
            ), ("late body", "send_body", "not in this hook", "will_send"),
            (
                "streams", "watch_response",
                "it has 1024 open streams, the most that are allowed", "prepare"
            ), ("level", "log", "its level is 77, which is none that it may be", "prepare"),
            ("name", "request_header", "its name is null, but has a length", "prepare"),
            ("key", "request_attr", "its key is null, but has a length", "prepare"),
            ("setting", "config_value", "its call is neither create nor reconfigure", "prepare"),
            (
                "snapshot", "request_snapshot",
                "the struct_size of its snapshot is 8, at least 64 is needed", "prepare"
            ),
            (
                "slot", "request_set_slot",
                "there is no request_done, in which it would be freed", "prepare"
            ),
            (
                "facts", "log", "its list of facts has 33 elements, at most 32 are allowed",
                "prepare"
            ),
        ] as [(String, String, String, String)])
    func `a refused call is logged with what is wrong, and the request goes on`(
        call: String, function: String, reason: String, hook: String
    ) async throws {
        let recorder = ActivityRecorder()
        let host = try Self.host(call, recorder)
        let provider = host.provider(
            over: StubTransport(answers: [.status(201, headers: ["X-From": "server"])]))
        let response = try await provider.request(.page)
        #expect(response.statusCode == 201)
        #expect(response.response?.headers["X-From"] == "server")
        let lines = recorder.lines.values
        #expect(lines.map(\.level) == [.warning])
        #expect(
            lines.first?.message.hasPrefix("\(function) was refused: \(reason), in \(hook) of GET ")
                == true, "\(lines)")
    }

    @Test(arguments: ["settled watch", "settled body", "settled replace", "settled error"])
    func `a change once the completion is settled has no effect, and is a violation`(
        call: String
    ) async throws {
        let host = try Self.host(call, ActivityRecorder())
        let provider = host.provider(over: StubTransport(answers: [.status(201)]))
        let response = try await provider.request(.page)
        #expect(response.statusCode == 201)
        #expect(host.plugins.first?.misbehaviour == [.staleHandle: 1])
    }

    @Test func `a line about a call in on_events has the number of events`() async throws {
        let recorder = ActivityRecorder()
        let host = try Self.host("event level", recorder)
        let provider = host.provider(over: StubTransport(answers: [.status(201)]))
        _ = try await provider.request(.page)
        // Events are reported before the plugin ends.
        _ = await host.shutDown()
        let reason = "its level is 77, which is none that it may be"
        #expect(
            recorder.lines.values.map(\.message) == [
                "log was refused: \(reason), in on_events of 1 event"
            ])
    }

    @Test func `a replacement of a refused request is logged with that reason`() async throws {
        let recorder = ActivityRecorder()
        let provider = try Self.host("denied", recorder).provider(over: StubTransport(answers: []))
        let error = await pluginError { try await provider.request(.page) }
        #expect(error?.message == "not this one")
        let reason = "a plugin has refused the request"
        #expect(
            recorder.lines.values.first?.message.hasPrefix(
                "response_replace was refused: \(reason), in process of GET ") == true,
            "\(recorder.lines.values)")
    }

    @Test(arguments: ["answer", "replace", "replace-te"])
    func `a plugin's response has the length of its body, and no fields of the transport`(
        call: String
    ) async throws {
        let recorder = ActivityRecorder()
        let provider = try Self.host(call, recorder).provider(
            over: StubTransport(answers: [.status(201)]))
        let response = try await provider.request(.page)
        #expect(response.statusCode == 200)
        #expect(String(decoding: response.data, as: UTF8.self) == "abc")
        let length = call == "replace-te" ? nil : "3"
        #expect(response.response?.headers["Content-Length"] == length)
        #expect(response.response?.headers["Transfer-Encoding"] == nil)
        #expect(recorder.lines.values.isEmpty)
    }

    @Test func `a response that a plugin fails with a reason that is refused fails nevertheless`()
        async throws
    {
        let recorder = ActivityRecorder()
        let provider = try Self.host("error", recorder).provider(
            over: StubTransport(answers: [.status(200)]))
        let error = await pluginError { try await provider.request(.page) }
        let fact = "its code is not made of ASCII letters, digits and '-'"
        #expect(
            error?.description == "plugin faulty.refused-calls: process failed: "
                + "response_replace_error, without a reason that can be read: \(fact)")
        #expect(
            recorder.lines.values.first?.message.hasPrefix(
                "response_replace_error was refused: \(fact), in process of GET ") == true)
    }

    @Test func `a shutdown after a body tells its watcher that the body was whole`() async throws {
        let recorder = ActivityRecorder()
        let host = try Self.host("whole", recorder)
        let server = try LoopbackServer.start()
        let session = Session(transport: CurlTransport(), plugins: host)
        let request = session.request("\(server.baseURL)/bytes/1000")
        #expect(await request.serializingData().response.value?.count == 1000)
        // The request still holds the stream.
        let abandoned = await host.shutDown()
        withExtendedLifetime(request) {}
        #expect(abandoned.isEmpty)
        #expect(recorder.lines.values.map(\.message) == ["whole"])
    }
}

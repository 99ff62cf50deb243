import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// The sample `RetryAfter`.
@Suite(.timeLimit(.minutes(2 * patience))) struct RetryAfterTests {
    private let plugin = SamplePlugin(name: "retry-after")
    /// The default wait is an hour: a test ends only if the server's Retry-After is used.
    private let patient = #"{"default_wait_ms": 3600000, "max_wait_ms": 3600000}"#

    /// A server that responds with `status` and `headers` the first `times` times.
    private func server(
        _ headers: [String], status: String = "503 Service Unavailable", times: Int = 1
    ) throws -> ScriptedServer {
        try ScriptedServer.start { connection in
            connection < times
                ? [.request, .respond(status, headers: headers)]
                : [.request, .respond(body: "at last")]
        }
    }

    private func budget(_ host: PluginHost) throws -> JSONValue {
        try JSONValue(parsing: "\(try host.call("dev.outlet.retry-after.budget"))")
    }

    // MARK: On the wire

    @Test(arguments: [
        ("503 Service Unavailable", ["Retry-After: 0"]),
        ("429 Too Many Requests", ["Retry-After: 0"]),
        // A date in the past, by the server's clock or by this machine's.
        (
            "503 Busy",
            [
                "Date: Fri, 31 Dec 9999 23:59:59 GMT",
                "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT",
            ]
        ),
        ("503 Busy", ["Retry-After: Sunday, 06-Nov-94 08:49:37 GMT"]),
        ("503 Busy", ["Date: no date", "Retry-After: Sun Nov  6 08:49:37 1994"]),
    ])
    func `a request is sent again after the time in Retry-After`(
        status: String, headers: [String]
    ) async throws {
        let server = try server(headers, status: status, times: 2)
        let session = try plugin.session(patient)
        let response = await session.response(to: server.baseURL)
        #expect(response.value == "at last")
        #expect(server.requests.count == 3)
    }

    @Test(arguments: [
        "Retry-After: 2", "Retry-After: 99999999999999999999999999",
        "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT",
    ])
    func `a request is not sent again if Retry-After exceeds max_wait_ms`(header: String)
        async throws
    {
        let server = try server([header])
        let host = try plugin.host(#"{"max_wait_ms": 1000, "default_wait_ms": 0}"#)
        let session = PluginSession(host)
        let response = await session.response(to: server.baseURL)
        #expect(response.response?.statusCode == 503)
        #expect(server.requests.count == 1)
        #expect(try budget(host)["retries"] == 0)
    }

    @Test(arguments: ["-1", "1.5", "soon", "Sun, 32 Nov 1994 08:49:37 GMT", "0 0", "99 Nov"])
    func `the default wait is used for an invalid Retry-After`(value: String) async throws {
        let server = try server(["Retry-After: \(value)"])
        let session = try plugin.session(#"{"default_wait_ms": 0}"#)
        let response = await session.response(to: server.baseURL)
        #expect(response.value == "at last")
    }

    @Test(arguments: [("POST", 1), ("PATCH", 1), ("PUT", 2), ("DELETE", 2)])
    func `methods that are not idempotent are sent once`(method: String, count: Int) async throws {
        let server = try server(["Retry-After: 0"])
        let session = try plugin.session(patient)
        var request = HTTPRequest(
            url: URL(string: server.baseURL), method: HTTPMethod(rawValue: method))
        request.body = .data(Data("body".utf8))
        _ = await session.response(to: request)
        #expect(
            server.requests.values.map(\.body) == Array(repeating: Array("body".utf8), count: count)
        )
    }

    @Test func `all_methods retries methods that are not idempotent, with their bodies`()
        async throws
    {
        let server = try server(["Retry-After: 0"])
        let session = try plugin.session(#"{"all_methods": true}"#)
        var request = HTTPRequest(url: URL(string: server.baseURL), method: .post)
        request.body = .data(Data("body".utf8))
        let response = await session.response(to: request)
        #expect(response.value == "at last")
        #expect(
            server.requests.values.map(\.body) == Array(repeating: Array("body".utf8), count: 2))
    }

    @Test(arguments: [("{}", 1), (#"{"statuses": [500, 418]}"#, 2), (#"{"statuses": []}"#, 1)])
    func `statuses sets the status codes that are retried`(configuration: String, count: Int)
        async throws
    {
        let server = try server(["Retry-After: 0"], status: "500 Oops")
        let session = try plugin.session(configuration)
        _ = await session.response(to: server.baseURL)
        #expect(server.requests.count == count)
    }

    @Test func `attempts end with max_attempts`() async throws {
        let server = try server(["Retry-After: 0"], times: .max)
        let session = try plugin.session(#"{"max_attempts": 4}"#)
        let response = await session.response(to: server.baseURL)
        #expect(response.response?.statusCode == 503)
        #expect(server.requests.count == 4)
    }

    // MARK: The budget

    @Test func `nothing is retried without a budget`() async throws {
        let server = try server(["Retry-After: 0"])
        let host = try plugin.host(#"{"budget_percent": 0, "budget_min_per_second": 0}"#)
        let session = PluginSession(host)
        let response = await session.response(to: server.baseURL)
        #expect(response.response?.statusCode == 503)
        #expect(server.requests.count == 1)
        let state = try budget(host)
        // A session calls the plugin again after it has serialized the failure.
        #expect(state["available"] == 0 && state["retries"] == 0)
        #expect((1...2).contains(state["refused"]?.intValue ?? 0))
        #expect(state["window_seconds"] == 10)
    }

    @Test func `simultaneous requests share one budget, and each is counted once`() async throws {
        let server = try LoopbackServer.start()
        let host = try plugin.host(
            """
            {"budget_percent": 0, "budget_min_per_second": 1, "max_attempts": 2,
             "default_wait_ms": 0}
            """)
        let session = PluginSession(host)
        let retries = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    let request = session.session.request("\(server.baseURL)/status/503")
                        .validate()
                    _ = await request.serializingString().response
                    return request.retryCount
                }
            }
            return await group.reduce(0, +)
        }
        let state = try budget(host)
        let granted = try #require(state["retries"]?.intValue)
        #expect(granted == Int64(retries))
        // Ten retries in ten seconds, and each request has failed once before a retry.
        #expect(granted >= 10)
        #expect((state["refused"]?.intValue ?? 0) >= 40 - granted)
    }

    // MARK: In C, with a test clock

    @Test func `the budget counts requests and retries within its window`() async throws {
        let output = try await SamplePlugin.run(
            """
            #include "retry_after.c"
            int main(void) {
                struct budget budget = {.percent = 50, .min_per_second = 0};
                for (int i = 0; i < 5; i++) budget_deposit(&budget, 100);
                printf("%d", (int)budget_balance(&budget, 100));
                printf(" %d", budget_withdraw(&budget, 100));
                printf("%d", budget_withdraw(&budget, 104));
                printf("%d", budget_withdraw(&budget, 109));
                budget_deposit(&budget, 109);
                budget_deposit(&budget, 109);
                printf(" %d", (int)budget_balance(&budget, 109));
                /* The first second is forgotten, with what was spent in it. */
                printf(" %d", (int)budget_balance(&budget, 110));
                printf(" %d", (int)budget_balance(&budget, 114));
                printf(" %d", (int)budget_balance(&budget, 1000000000000));
                budget.min_per_second = 3;
                printf(" %d %d", (int)budget_balance(&budget, 1000000000000), (int)budget.refused);
            }
            """, including: "RetryAfter", flags: ["-Wno-unused"])
        #expect(output == "2 110 1 0 1 0 30 1")
    }

    @Test func `dates are read in all three HTTP formats`() async throws {
        let output = try await SamplePlugin.run(
            """
            #include "retry_after.c"
            int main(void) {
                static const char *const dates[] = {
                    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                    "Sun Nov  6 08:49:37 1994", "Thu, 29 Feb 2024 23:59:60 GMT",
                    "Thu, 01 Jan 1970 00:00:00 GMT", "Saturday, 06-Nov-60 08:49:37 GMT",
                    "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 24:49:37 GMT",
                    "Sun, 06 Nov 1994 08:49:37 GMT+1", "Sun, 06 Nox 1994 08:49:37 GMT",
                    "Sun, 06 anF 1994 08:49:37 GMT", "Sun, 06 Nov 1994", "Sun", "", ","};
                for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
                    int64_t date = -1;
                    http_date(outlet_text(dates[i]), 1700000000, &date);
                    printf("%lld ", (long long)date);
                }
                printf("%lld %lld", (long long)requested_wait(outlet_text("120"), 0),
                       (long long)requested_wait(outlet_text("Sun, 06 Nov 1994 08:49:37 GMT"),
                                              784111776));
            }
            """, including: "RetryAfter", flags: ["-Wno-unused"])
        #expect(
            output == "784111777 784111777 784111777 1709251200 0 2866956577 -1 -1 -1 -1 -1 -1 -1 "
                + "-1 -1 120000 1000")
    }

    // MARK: Configuration

    @Test(arguments: [
        (#"{"max_attempts": 0}"#, "/max_attempts: "), (#"{"max_attempts": 12}"#, "/max_attempts: "),
        (#"{"max_attempts": 1.5}"#, "/max_attempts: "), (#"{"max_wait_ms": -1}"#, "/max_wait_ms: "),
        (#"{"max_wait_ms": "1 s"}"#, "/max_wait_ms: "),
        (#"{"default_wait_ms": 99999999999999999999}"#, "/default_wait_ms: "),
        (#"{"default_wait_ms": 1e9}"#, "/default_wait_ms: "),
        (#"{"budget_percent": 1001}"#, "/budget_percent: "),
        (#"{"budget_min_per_second": null}"#, "/budget_min_per_second: "),
        (#"{"all_methods": 1}"#, "/all_methods: "), (#"{"statuses": 503}"#, "/statuses: "),
        (#"{"statuses": [399]}"#, "/statuses/0: "), (#"{"statuses": [503, 600]}"#, "/statuses/1: "),
        (#"{"statuses": [[503]]}"#, "/statuses/0: "), (#"{"statuses": [5.03e2]}"#, "\"statuses\""),
        (#"{"maxAttempts": 3}"#, "'maxAttempts'"),
    ])
    func `the error of an invalid configuration names the setting`(
        configuration: String, words: String
    ) {
        let refusal = plugin.refusal(of: configuration)
        #expect(refusal?.contains(words) == true, "\(refusal ?? "it started")")
    }

    @Test(arguments: [#"{"default_wait_ms": 1e3}"#, #"{"max_attempts": 10.0}"#])
    func `a whole number may be written with an exponent or a fraction`(configuration: String) {
        #expect(plugin.refusal(of: configuration) == nil)
    }
}

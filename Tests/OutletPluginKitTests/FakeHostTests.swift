import OutletPluginKit
import OutletPluginTesting
import Synchronization
import Testing

/// Hooks of Swift plugins, called without Outlet.
@Suite struct FakeHostTests {
    private let fake = FakeHost()

    @Test func `a plugin is created with its configuration and changes a request`() async throws {
        let plugin = try fake.make(
            Stamp.self,
            configuration: #"{"header": "X\u002dStamp", "limits": {"count": 3, "on": true}}"#)
        #expect(plugin.header == "X-Stamp" && plugin.count == 3 && plugin.isOn)
        let request = fake.request(
            "https://test.example/a", method: "POST", headers: [("X-Old", "1"), ("X-Two", "a")],
            body: Array("abc".utf8), attributes: ["target.name": "list"])
        try await plugin.prepare(request)
        let stamped = try #require(request.current.header(plugin.header))
        #expect(stamped == "POST https://test.example/a 3 list")
        #expect(request.current.header("X-Old") == nil)
        #expect(request.current.headers.map(\.name) == ["X-Two", plugin.header])
        #expect(fake.logged == 1)
        #expect(fake.answer(to: request) == nil)
    }

    @Test func `header values can be read as bytes and as text`() throws {
        let request = fake.request("https://test.example/")
        try request.setHeader("X", bytes: [0x63, 0xE9])
        #expect(request.current.headerBytes("x") == [0x63, 0xE9])
        #expect(request.current.header("x") == "c\u{E9}")
        #expect(request.current.headers.map(\.value) == ["c\u{E9}"])
        let response = fake.response(headers: [("Y", "\u{E9}")])
        #expect(response.current.headerBytes("y") == [0xC3, 0xA9])
        #expect(response.current.header("y") == "\u{E9}")
        #expect(response.current.headerBytes("x") == nil)
    }

    @Test func `names of headers are compared without case, keys and attributes with it`() throws {
        let request = fake.request("https://test.example/", attributes: ["Key": "1"])
        try request.setHeader("X-Name", "1")
        #expect(request.current.header("x-name") == "1")
        #expect(request.current.attribute("Key") == "1")
        #expect(request.current.attribute("key") == nil)
        #expect(throws: PluginError.self) {
            try fake.make(Stamp.self, configuration: #"{"Header": "X"}"#)
        }
    }

    @Test func `answers with a body that HTTP does not allow are refused as by Outlet`() throws {
        let body = Array("x".utf8)
        for (method, status) in [("HEAD", 200), ("GET", 204), ("GET", 304)] {
            let request = fake.request("https://test.example/", method: method)
            #expect(throws: PluginError.self) { try request.answer(status: status, body: body) }
            #expect(fake.answer(to: request) == nil)
            try request.answer(status: status)
            #expect(fake.answer(to: request) == status)
        }
    }

    @Test func `the error of a refused header or attribute names the cause`() {
        let request = fake.request("https://test.example/")
        func message(_ change: () throws -> Void) -> String {
            do {
                try change()
                return ""
            } catch {
                return "\(error)"
            }
        }
        let invalid =
            "it is not valid in HTTP, only the transport sets it, or there are 2000 already"
        #expect(message { try request.setHeader("X Y", "1") } == "header X Y: \(invalid)")
        #expect(message { try request.addHeader("TE", "1") } == "header TE: \(invalid)")
        let length = "header Content-Length: only the host sets it"
        #expect(message { try request.setHeader("Content-Length", "1") } == length)
        #expect(message { try request.removeHeader("Content-Length") } == length)
        #expect(
            message { try request.setAttribute("outlet.x", "1") }
                == "attribute outlet.x: only the host sets those with its prefix")
    }

    @Test func `methods and headers that HTTP cannot represent are refused as by Outlet`() throws {
        let request = fake.request("https://test.example/")
        for method in ["", "GE T", "GET\r\nX: 1", "G\0", "GÉT", "CONNECT"] {
            #expect(throws: PluginError.self) { try request.setMethod(method) }
        }
        for name in ["", "X Y", "X:", "X\n", "É"] {
            #expect(throws: PluginError.self) { try request.setHeader(name, "1") }
            #expect(throws: PluginError.self) { try request.addHeader(name, "1") }
        }
        for value in ["a\r\nY: 1", "\0", "\u{1F}", "\u{7F}"] {
            #expect(throws: PluginError.self) { try request.setHeader("X", value) }
            #expect(throws: PluginError.self) { try request.addHeader("X", value) }
        }
        #expect(request.current.method == "GET" && request.current.headers.isEmpty)
        try request.setMethod("M-SEARCH")
        try request.setHeader("!#$%&'*+-.^_`|~09azAZ", "a\tb É")
        #expect(request.current.headers.map(\.value) == ["a\tb É"])
    }

    @Test func `more attributes than a request can have are refused as by Outlet`() throws {
        let request = fake.request(
            "https://test.example/", attributes: ["target.name": "list", "tier": "gold"])
        for index in 1...1000 { try request.setAttribute("key\(index)", "1") }
        for key in ["more", "tier"] {
            #expect(throws: PluginError.self) { try request.setAttribute(key, "1") }
        }
        #expect(request.current.attribute("tier") == "gold")
        try request.setAttribute("key1", "2")
        #expect(request.current.attribute("key1") == "2")
    }

    @Test func `larger attributes than a request can have are refused as by Outlet`() throws {
        let request = fake.request("https://test.example/")
        let value = String(repeating: "v", count: 65_536)
        // With their keys, 16 are larger than 1 MiB.
        for index in 10...24 { try request.setAttribute("\(index)", value) }
        #expect(throws: PluginError.self) { try request.setAttribute("25", value) }
        try request.setAttribute("25", String(value.dropLast(32)))
        #expect(throws: PluginError.self) { try request.setAttribute("25", value) }
        #expect(throws: PluginError.self) { try request.setAttribute("2", "") }
        try request.setAttribute("10", "")
        try request.setAttribute("2", "")
        #expect(throws: PluginError.self) { try request.setAttribute("3", value + "v") }
        #expect(throws: PluginError.self) {
            try request.setAttribute(String(repeating: "k", count: 1025), "")
        }
    }

    @Test func `changes that plugins must not make are refused as by Outlet`() throws {
        let request = fake.request(
            "https://test.example/", headers: [("Content-Length", "3")],
            attributes: ["target.name": "list"])
        for change in [
            { try request.setHeader("content-length", "4") },
            { try request.addHeader("Content-Length", "4") },
            { try request.removeHeader("Content-Length") },
            { try request.setAttribute("target.name", "x") },
            { try request.setAttribute("request.id", "x") },
            { try request.setAttribute("outlet.x", "x") },
        ] as [() throws -> Void] {
            #expect { try change() } throws: {
                ($0 as? PluginError)?.status == OUTLET_E_DENIED
            }
        }
        for name in [
            "Transfer-Encoding", "connection", "TE", "Upgrade", "Keep-Alive", "Trailer",
            "Proxy-Authorization",
        ] {
            #expect(throws: PluginError.self) { try request.setHeader(name, "x") }
            #expect(throws: PluginError.self) { try request.addHeader(name, "x") }
            try request.removeHeader(name)
        }
        for change in [
            { try request.setURL("/relative") }, { try request.setURL("ftp://test.example/") },
            { try request.setURL("http://") }, { try request.setURL("http:///path") },
            { try request.setHeader("Host", "a b") }, { try request.setHeader("Host", "") },
            { try request.setURL("http://test.example/\n") }, { try request.setAttribute("", "x") },
            { try request.answer(status: 200, headers: [("a b", "1")]) },
            { try request.answer(status: 200, headers: [("a", "1\r\nb: 2")]) },
        ] as [() throws -> Void] {
            #expect { try change() } throws: {
                ($0 as? PluginError)?.status == OUTLET_E_ARGUMENT
            }
        }
        #expect(request.current.header("Content-Length") == "3")
        #expect(request.current.attribute("target.name") == "list")
        #expect(request.current.url == "https://test.example/")
        #expect(fake.answer(to: request) == nil)
        try request.setURL("HTTPS://other.example:8443/a b?c")
        try request.setAttribute("x", "y")
        // Names of attributes are compared with case.
        try request.setAttribute("Target.name", "y")
        #expect(request.current.attribute("target.name") == "list")
        try request.setHeader("Host", "[::1]:8080")
        #expect(throws: PluginError.self) { try request.addHeader("host", "other.example") }
        #expect(request.current.header("Host") == "[::1]:8080")
        let response = fake.response(headers: [("X", "1")])
        #expect(throws: PluginError.self) {
            try response.replace(status: 200, headers: [("a b", "1")])
        }
        #expect(throws: PluginError.self) { try response.replace(status: 204, body: [1]) }
        #expect(response.current.header("X") == "1" && fake.replacement(of: response) == nil)
    }

    @Test func `a fake host has any number of requests, responses and completions`() throws {
        for number in 1...600 {
            let request = fake.request("https://test.example/\(number)")
            try request.answer(status: 200)
            #expect(fake.answer(to: request) == 200)
            #expect(fake.response(status: number).current.status == number)
        }
    }

    @Test func `a plugin has the data directory that the test gives it`() throws {
        let configuration = #"{"header": "X"}"#
        let plugin = try fake.make(
            Stamp.self, configuration: configuration, dataDirectory: "/data")
        #expect(plugin.host.dataDirectory == "/data")
        #expect(try fake.make(Stamp.self, configuration: configuration).host.dataDirectory == nil)
    }

    @Test func `an invalid configuration makes the fake host throw`() {
        #expect(throws: PluginError.self) { try fake.make(Stamp.self) }
        #expect(throws: PluginError.self) {
            try fake.make(Stamp.self, configuration: #"{"header": "X", "limits": {"count": "x"}}"#)
        }
        #expect(throws: (any Error).self) { try fake.make(Stamp.self, configuration: "[1]") }
    }

    @Test func `a ConfiguredPlugin gets its decoded settings`() throws {
        let plugin = try fake.make(
            Typed.self, configuration: #"{"names": ["a", "b"], "mode": "quick"}"#)
        #expect(plugin.settings.names == ["a", "b"])
        #expect(throws: (any Error).self) { try fake.make(Typed.self, configuration: "{}") }
        let error = #expect(throws: PluginError.self) {
            try fake.make(Typed.self, configuration: #"{"names": [], "mode": "secret"}"#)
        }
        #expect(
            error?.message
                == "configuration: /mode: it is none of the values that the plugin accepts")
    }

    @Test func `a test gives a Reconfiguring plugin other settings`() throws {
        let plugin = try fake.make(Typed.self, configuration: #"{"names": ["a"]}"#)
        try fake.reconfigure(plugin, configuration: #"{"names": ["b"], "count": 2}"#)
        #expect(plugin.settings.names == ["b"] && plugin.settings.count == 2)
        let error = #expect(throws: PluginError.self) {
            try fake.reconfigure(plugin, configuration: #"{"names": 1}"#)
        }
        #expect(error?.message == "configuration: /names: it is not an array")
        let refused = #expect(throws: PluginError.self) {
            try fake.reconfigure(plugin, configuration: #"{"names": []}"#)
        }
        #expect(refused?.message == "no names")
        #expect(plugin.settings.names == ["b"])
    }

    @Test(arguments: [
        (#"{"names": "a"}"#, "/names: it is not an array"),
        (#"{"names": [1]}"#, "/names/0: it is not a string"),
        (#"{"names": [], "count": "x"}"#, "/count: it is not a whole number in the range"),
        (#"{"names": [], "isOn": 1}"#, "/isOn: it is not true or false"),
        (#"{"names": [], "inner": []}"#, "/inner: it is not an object"),
        (#"{"names": null}"#, "/names: it is null"), (#"{}"#, "/names: it is missing"),
    ])
    func `settings of another type are refused with their place and the expected type`(
        text: String, expected: String
    ) {
        let error = #expect(throws: PluginError.self) {
            try fake.make(Typed.self, configuration: text)
        }
        #expect(error?.message.hasPrefix("configuration: \(expected)") == true, "\(error?.message)")
    }

    @Test func `a test can read a plugin's responses and replacements`() async throws {
        let plugin = try fake.make(Stamp.self, configuration: #"{"header": "X"}"#)
        let request = fake.request("https://test.example/teapot")
        try await plugin.prepare(request)
        #expect(fake.answer(to: request) == 418)
        let teapot = try #require(fake.response(to: request))
        #expect(teapot.status == 418 && teapot.body == [0xC3, 0])
        #expect(teapot.header("content-type") == "text/plain")
        #expect(fake.response(to: fake.request("https://test.example/")) == nil)
        let failed = fake.response(status: 0)
        #expect(failed.current.failure?.code == "timedOut" && failed.current.status == nil)
        try await plugin.process(failed, for: request.current)
        #expect(fake.replacement(of: failed) == 503)
        let good = fake.response(headers: [("Retry-After", "1")], body: "text")
        try await plugin.process(good, for: request.current)
        #expect(fake.replacement(of: good) == nil)
        #expect(good.current.body == Array("text".utf8))
        #expect(good.current.header("retry-after") == "1")
        #expect(fake.response(body: [0, 0xFF]).current.body == [0, 0xFF])
    }
}

private struct Stamp: RequestPreparing, ResponseProcessing {
    static let info = PluginInfo(id: "test.stamp", version: "1.0.0")
    let host: Host
    let header: String
    let count: Int
    let isOn: Bool

    init(host: Host, configuration: Configuration) throws {
        guard let header = configuration.string("header") else { throw PluginError("no header") }
        self.host = host
        self.header = header
        count = try configuration.integer("limits.count") ?? 0
        isOn = try configuration.boolean("limits.on") ?? false
    }

    nonisolated(nonsending) func prepare(_ request: MutableRequest) async throws {
        await Task.yield()
        let current = request.current
        if current.url.hasSuffix("teapot") {
            return try request.answer(
                status: 418, headers: [("Content-Type", "text/plain")], body: [0xC3, 0])
        }
        try request.removeHeader("X-Old")
        let body = current.body?.count ?? 0
        try request.setHeader(
            header,
            "\(current.method) \(current.url) \(body) \(current.attribute("target.name") ?? "")")
        host.log(.info, "stamped")
    }

    nonisolated(nonsending) func process(
        _ response: MutableResponse, for request: Request
    ) async throws {
        if response.current.failure != nil { try response.replace(status: 503) }
    }
}

private final class Typed: Reconfiguring {
    struct Settings: Decodable, Sendable {
        enum Mode: String, Decodable, Sendable { case quick }
        struct Inner: Decodable, Sendable { let name: String }
        let names: [String]
        let mode: Mode?
        let count: Int?
        let isOn: Bool?
        let inner: Inner?
    }
    static let info = PluginInfo(id: "test.typed", version: "1.0.0")
    private let state: Mutex<Settings>

    var settings: Settings { state.withLock { $0 } }

    init(host: Host, settings: Settings) throws { state = Mutex(settings) }

    func reconfigure(settings: Settings) throws {
        guard !settings.names.isEmpty else { throw PluginError("no names") }
        state.withLock { $0 = settings }
    }
}

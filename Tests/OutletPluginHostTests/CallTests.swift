import FoundationEssentials
import OutletHTTP
@testable import OutletPluginHost
import OutletProvider
import OutletSession
import OutletTransport
import OutletTestSupport
import OutletTesting
import Testing

@Suite struct CallTests {
    private let host: PluginHost
    private let folder: PluginFolder

    init() throws {
        folder = try PluginFolder(
            faulty: "Obliging", samples: ["librequest-id.so", "libpacer.so"])
        host = try folder.load(configuration: ["dev.outlet.request-id": #"{"prefix": "ab-"}"#])
    }

    @Test func `unsigned integers are converted to the kind of a parameter`() {
        #expect(PluginValue.uint(5).converted(to: .int32) == .int(5))
        #expect(PluginValue.uint(1 << 31).converted(to: .int32) == nil)
        #expect(PluginValue.uint(5).converted(to: .double) == .double(5))
        #expect(PluginValue.uint(5).converted(to: .int64) == .int(5))
        #expect(PluginValue.uint(.max).converted(to: .int64) == nil)
        #expect(PluginValue.uint(5).converted(to: .boolean) == nil)
    }

    @Test func `a function takes and returns text`() throws {
        #expect(
            try host.call("dev.outlet.request-id.format", ["7"]) == .text("X-Request-ID: ab-7"))
    }

    @Test func `a function without arguments runs at each call`() throws {
        let first = try host.call("dev.outlet.request-id.next")
        let second = try host.call("dev.outlet.request-id.next")
        #expect(first != second)
        #expect(first.description.hasPrefix("ab-") && first.description.utf8.count == 35)
        #expect(try host.call("dev.outlet.request-id.count") == .uint(2))
    }

    @Test func `a function receives every kind of argument unchanged`() throws {
        let arguments: [PluginValue] = [
            true, -5, .uint(4_000_000_000), -5_000_000_000, .uint(18_000_000_000_000_000_000), 0.5,
        ]
        #expect(try host.call("faulty.obliging.all", arguments) == "right")
    }

    @Test func `every kind of argument can be given as text`() throws {
        let result = try host.call(
            "faulty.obliging.all",
            parsing: ["true", "-5", "4000000000", "-5000000000", "18000000000000000000", "0.5"])
        #expect(result == "right")
    }

    @Test func `every kind of result is returned`() throws {
        #expect(try host.call("faulty.obliging.negative") == -7)
        #expect(try host.call("faulty.obliging.is_empty", [""]) == true)
        #expect(try host.call("faulty.obliging.is_empty", ["x"]) == false)
        #expect(try host.call("faulty.obliging.motto") == "obliging")
        #expect(try host.call("faulty.obliging.half", [5]) == 2.5)
    }

    @Test func `a Swift plugin's function is called like any other`() throws {
        #expect(try host.call("dev.outlet.pacer.delay_ms", [1]) == 200)
        #expect(try host.call("dev.outlet.pacer.delay_ms", parsing: ["3"]) == -1)
    }

    @Test func `the error of a failing function has its name, code and message`() {
        var failure = PluginError(
            plugin: "dev.outlet.request-id", hook: .call, kind: .failed, code: "empty-id",
            message: "the id is empty")
        failure.function = "format"
        #expect(throws: PluginCallError.failed(failure)) {
            try host.call("dev.outlet.request-id.format", [""])
        }
        #expect(
            error("dev.outlet.request-id.format", [""])
                == "plugin dev.outlet.request-id: call of 'format' failed (empty-id): the id is "
                + "empty")
    }

    private func error(_ name: String, _ arguments: [PluginValue] = []) -> String {
        do {
            return "no error, but \(try host.call(name, arguments))"
        } catch {
            return error.description
        }
    }

    @Test func `the error for a wrong name lists the existing names`() {
        #expect(error("next") == "next: not of the form PLUGIN-ID.FUNCTION")
        #expect(
            error("dev.outlet.requestid.next")
                == "dev.outlet.requestid: no such plugin; there is faulty.obliging, "
                + "dev.outlet.pacer, dev.outlet.request-id")
        #expect(
            error("dev.outlet.request-id.nxt")
                == "dev.outlet.request-id.nxt: no such function; there is next, format, count")
        #expect(
            error("dev.outlet.request-id")
                == "dev.outlet.request-id: no function given; there is next, format, count")
    }

    @Test func `the error for wrong arguments contains the declaration`() {
        #expect(
            error("dev.outlet.request-id.format")
                == "dev.outlet.request-id.format(text) -> text: called with 0 arguments")
        #expect(
            error("dev.outlet.request-id.format", [1])
                == "dev.outlet.request-id.format(text) -> text: argument 1 is not text: it is a "
                + "whole number, \"1\"")
        #expect(
            error("faulty.obliging.half", ["2"])
                == "faulty.obliging.half(number) -> number: argument 1 is not number: it is a "
                + "text, \"2\"")
        let long = error(
            "faulty.obliging.half", [.text("password=geheim " + String(repeating: "x", count: 999))]
        )
        #expect(long.utf8.count < 200 && !long.contains("geheim"), "\(long)")
        #expect(
            throws: PluginCallError.wrongType(
                declaration: "dev.outlet.pacer.delay_ms(int64) -> int64", position: 1,
                wanted: "int64", given: "\"two\"")
        ) { try host.call("dev.outlet.pacer.delay_ms", parsing: ["two"]) }
    }

    @Test func `errors of plugins are one line without control characters and secrets`() {
        let text = "token=geheim\u{1B}[31m\nplugin x: forged\u{7}"
        let errors: [any Error] = [
            PluginError(plugin: "a.b", hook: .adapt, kind: .failed, message: text),
            PluginLoadError.creationFailed(path: "/p.so", id: "a.b", reason: text),
        ]
        for error in errors {
            let shown = "\(error)"
            #expect(!shown.contains("geheim") || error is PluginLoadError, "\(shown)")
            #expect(!shown.utf8.contains { $0 < 0x20 }, "\(shown)")
        }
    }

    @Test func `a plugin runs as long as its description is referenced`() throws {
        var plugin: LoadedPlugin?
        do {
            let other = try PluginFolder(faulty: "Obliging").load()
            plugin = other.plugins.first
        }
        let kept = try #require(plugin)
        #expect(try kept.call("half", 4.0) == .double(2))
    }

    @Test func `a number that does not fit is refused`() {
        #expect(
            error("faulty.obliging.all", [true, 5_000_000_000, 1, 1, 1, 1]).contains(
                "argument 2 is not int32"))
    }

    @Test func `a call of a plugin that was shut down fails`() async {
        await host.shutDown()
        #expect(
            error("dev.outlet.request-id.next")
                == "plugin dev.outlet.request-id: call of 'next' is not available: it was shut "
                + "down")
    }

    /// Calls the plugin from inside `pluginDidLog`.
    private final class CallingObserver: PluginObserver {
        let host = Lock<PluginHost?>(nil)
        let errors = Recorder<String>()

        func pluginDidAct(_ activity: PluginActivity) {}
        func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour) {}

        func pluginDidLog(_ line: PluginLogLine) {
            do throws(PluginCallError) {
                _ = try host.withLock { $0 }?.call("\(line.plugin).text")
            } catch {
                errors.record("\(error)")
            }
        }
    }

    @Test func `a plugin with serial hooks cannot be called from inside a hook`() async throws {
        let folder = try PluginFolder(faulty: "RawText")
        let observer = CallingObserver()
        let host = try folder.load(observer: observer)
        observer.host.withLock { $0 = host }
        let stub = StubTransport(answers: [.status(200)])
        #expect(try await host.provider(over: stub).request(.page).statusCode == 200)
        let error = try await observer.errors.values(1)[0]
        #expect(error.containsBytes(of: "its hooks run one after another, and one is running"))
        observer.host.withLock { $0 = nil }
    }

    @Test func `a function takes and returns bytes unchanged`() throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        #expect(
            try host.call("faulty.obliging.turned", [.bytes([0, 255, 7])]) == .bytes([7, 255, 0]))
        #expect(
            try host.call("faulty.obliging.turned", parsing: ["abc"]) == .bytes(Array("cba".utf8)))
        #expect(throws: PluginCallError.self) { try host.call("faulty.obliging.untext") }
    }

    @Test func `a function can read a request argument`() throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        let request = HTTPRequest(url: URL(string: "http://a.example/"), method: .patch)
        #expect(try host.call("faulty.obliging.method", [.request(request)]) == "PATCH")
        #expect(throws: PluginCallError.self) { try host.call("faulty.obliging.method", ["x"]) }
    }

    @Test func `a plugin calls a Swift function`() throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        let plugin = try #require(host.plugins.first)
        let seen = Recorder<PluginValue>()
        let likes = PluginCallback { arguments in
            seen.record(arguments[0])
            return .bool(arguments[0] != "green")
        }
        #expect(try plugin.call("liked", .function(likes)) == 2)
        #expect(seen.values == ["red", "green", "blue"])
        #expect(plugin.misbehaviour == [:])
    }

    @Test func `a call whose Swift function returns a value of another type fails`() throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        let plugin = try #require(host.plugins.first)
        let error = #expect(throws: PluginCallError.self) {
            try plugin.call("liked", .function(PluginCallback { _ in "yes" }))
        }
        #expect(
            error?.description.hasSuffix(
                ": argument 1 is not a function that returns boolean: it returned a text") == true,
            "\(error?.description ?? "")")
        #expect(plugin.misbehaviour == [:])
    }

    @Test func `a whole number out of range is named so, not as one of another kind`() {
        #expect(PluginValue.int(.max).kind(unfitFor: .int32) == "a whole number out of range")
        #expect(PluginValue.uint(.max).kind(unfitFor: .int64) == "a whole number out of range")
        #expect(PluginValue.int(1).kind(unfitFor: .text) == "a whole number")
        #expect(PluginValue.text("1").kind(unfitFor: .int32) == "a text")
    }

    @Test func `a callback that is called after its call does nothing and counts as misbehaviour`()
        throws
    {
        let host = try PluginFolder(faulty: "Obliging").load()
        let plugin = try #require(host.plugins.first)
        let calls = Recorder<Int>()
        let likes = PluginCallback { _ in
            calls.record(1)
            return true
        }
        #expect(try plugin.call("liked", .function(likes)) == 3)
        #expect(try plugin.call("again") == 0)
        #expect(calls.count == 3)
        #expect(plugin.misbehaviour == [.staleHandle: 1])
    }

    @Test func `a Swift function takes and returns numbers of every type`() throws {
        let host = try PluginFolder(faulty: "Obliging").load()
        let plugin = try #require(host.plugins.first)
        let bytes = Recorder<PluginValue>()
        @Sendable func next(_ value: PluginValue) -> PluginValue {
            switch value {
            case .int(let value): .int(value + 1)
            case .uint(let value): .uint(value + 1)
            case .double(let value): .double(value + 1)
            default: .nothing
            }
        }
        let step = PluginValue.function(PluginCallback { next($0[0]) })
        let watch = PluginValue.function(
            PluginCallback {
                bytes.record($0[0])
                return .nothing
            })
        #expect(try plugin.call("numbers", step, step, step, step, step, watch) == 5.5)
        #expect(bytes.values == [.bytes([0, 255])])
        #expect(
            throws: PluginCallError.notAText(
                declaration: "faulty.obliging.liked(((text) -> boolean)) -> int32", position: 1,
                wanted: "function")
        ) { try host.call("faulty.obliging.liked", parsing: ["f"]) }
    }
}

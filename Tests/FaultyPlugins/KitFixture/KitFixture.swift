public import OutletPluginKit
import Synchronization

/// A plugin with most hooks of the kit; the request's field `X-Mode` selects what they do.
struct KitFixture: RequestPreparing, RequestObserving, ResponseProcessing, RequestAdapting,
    RequestRetrying, RequestFinalizing, RedirectDeciding, ResponseSerializing, EventMonitoring,
    FunctionExporting, Reconfiguring
{
    static let info = PluginInfo(
        id: "test.kit", version: "0.1.0", name: "Kit", summary: "All of the kit.",
        vendor: "Tests", url: "https://example.com", permissions: ["env:HOME", "net:token.example"])

    let host: Host
    private let greeting: Greeting
    /// Has an element for each response to a request with the mode "background".
    private let responses = AsyncStream<Void>.makeStream()

    init(host: Host, settings: KitSettings) throws {
        self.host = host
        greeting = Greeting(settings)
        let isStrict = settings.strict ?? false
        host.log(.debug, "\(host.name): limit \(settings.limit ?? 0), strict \(isStrict)")
    }

    func reconfigure(settings: KitSettings) throws {
        guard settings.greeting?.text != "" else {
            throw PluginError("the greeting is empty", code: "no-greeting")
        }
        greeting.replace(settings)
    }

    func adapt(_ request: MutableRequest) async throws {
        switch request.current.header("X-Mode") {
        case "later":
            try await Task.sleep(for: .milliseconds(1))
            try request.setHeader("X-Adapted", "later")
        case "throw":
            throw PluginError("no token in the vault")
        case "deny":
            try await Task.sleep(for: .milliseconds(1))
            throw PluginError.refusal("not on the list", code: "not-listed")
        case "fetch":
            let call = HTTPCall(
                "POST", "http://token.example/", headers: [("X-Ask", "1")], body: Array("who".utf8))
            let reply = try await host.send(call)
            let kind = reply.header("content-type") ?? "none"
            try request.setHeader(
                "X-Adapted",
                "\(reply.status) \(kind) " + String(decoding: reply.body, as: UTF8.self))
        case "hang":
            try await Task.sleep(for: .seconds(3600))
        case "hang-logged":
            host.log("hangs")
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                host.log("was cancelled")
                throw error
            }
        case "background":
            // It sends a request when this hook is over.
            Task { [host, responses] in
                for await _ in responses.stream { break }
                let reply = try? await host.send(HTTPCall("GET", "http://token.example/"))
                host.log("background \(reply?.status ?? 0)")
            }
        case "crash":
            try await Task.sleep(for: .milliseconds(1))
            _ = [UInt8]()[request.current.headers.count]
        case "watch":
            try watch(request)
        case "make", "make-chunked", "make-short":
            try make(request)
        default:
            try request.setHeader("X-Adapted", "at once")
        }
    }

    /// Logs each piece of the response's body; fails the request at a piece that contains an `x`.
    private func watch(_ request: MutableRequest) throws {
        try request.watchResponse { [host] piece in
            await Task.yield()
            guard !piece.bytes.contains(UInt8(ascii: "x")) else {
                throw PluginError("there is an x", code: "has-x")
            }
            host.log(
                .info,
                "\(piece.response.status ?? 0) at \(piece.offset): \(piece.bytes.count), "
                    + "end \(piece.isEnd)")
        } end: { [host] in
            host.log(.info, "watched, whole \($0)")
        }
    }

    /// Sends a body of ten bytes, in pieces of four.
    ///
    /// With the mode "make-chunked" its length is not declared; with "make-short" it fails after
    /// the first piece.
    private func make(_ request: MutableRequest) throws {
        let mode = request.current.header("X-Mode")
        try request.sendBody(length: mode == "make-chunked" ? nil : 10) { offset in
            await Task.yield()
            if mode == "make-short", offset > 0 { throw PluginError("no more", code: "dry") }
            let bytes = Array("0123456789".utf8)
            return Array(bytes[min(Int(offset), 10)..<min(Int(offset) + 4, 10)])
        } end: { [host] in
            host.log(.info, "made, whole \($0)")
        }
    }

    func prepare(_ request: MutableRequest) throws {
        try request.setAttribute("kit.note", greeting.text)
        try request.addHeader("X-Many", "1")
        try request.addHeader("X-Many", "2")
        try request.removeHeader("X-Remove")
        guard request.current.header("X-Mode") == "post" else { return }
        try request.setMethod("POST")
        try request.setURL("https://other.example/new")
        try request.setBody(Array("body of \(request.current.method)".utf8))
    }

    func finalize(_ request: MutableRequest) async throws {
        guard request.current.header("X-Mode") == "sign" else { return }
        var sum = 0
        var offset: UInt64 = 0
        var piece = [UInt8](repeating: 0, count: 3)
        while true {
            let count = try piece.withUnsafeMutableBytes {
                try request.current.readBody(at: offset, into: $0)
            }
            guard count > 0 else { break }
            sum += piece.prefix(count).reduce(0) { $0 + Int($1) }
            offset += UInt64(count)
        }
        let host = request.current.header("Host") ?? "none"
        try request.setHeader("X-Signature", "\(host) \(offset) \(sum)")
    }

    func redirect(
        _ request: Request, answeredWith response: Response, to next: MutableRequest
    ) async throws -> RedirectDecision {
        switch request.header("X-Mode") {
        case "take": return .take
        case "refuse": throw PluginError("not there", code: "not-allowed")
        default:
            try next.setHeader("X-From", "\(response.status ?? 0) \(request.url)")
            return .follow
        }
    }

    func serialize(
        _ response: Response, for request: Request
    ) throws -> (type: String, bytes: [UInt8]) {
        guard response.status != 204 else { throw PluginError("nothing", code: "empty") }
        return ("x.kit", Array("\(request.url) ".utf8) + response.body)
    }

    func monitor(_ events: [RequestEvent], dropped: UInt64) {
        for event in events where event.kind == .finished {
            host.log(.debug, "finished \(event.a) after \(event.b), \(event.requestID.count)")
        }
    }

    func willSend(_ request: Request) {
        let names = request.headers.map(\.name).joined(separator: " ")
        let note = request.attribute("kit.note") ?? "none"
        let tier = request.attribute("target.tier") ?? "none"
        let size = request.body?.count ?? -1
        host.log(.info, "\(request.method) \(request.url) [\(names)] \(note) \(tier) \(size)")
    }

    func didReceive(_ response: Response, for request: Request) {
        if request.header("X-Mode") == "background" { responses.continuation.yield() }
        let outcome = response.status.map(String.init) ?? response.failure?.code ?? "nothing"
        host.log(
            .info, "\(outcome), \(response.headers.count) headers, \(response.body.count) bytes")
    }

    func process(_ response: MutableResponse, for request: Request) throws {
        switch response.current.status {
        case 201:
            let body = Array(response.current.body.reversed())
            try response.replace(status: 202, headers: [("X-Turned", "round")], body: body)
        case 204: try response.replace(failure: "nothing is not enough")
        case 205: throw PluginError("205 makes no sense")
        default: break
        }
    }

    func retry(_ request: Request, after response: Response, attempt: Int) async -> RetryDecision {
        await Task.yield()
        guard response.status == 503 else { return .doNotRetry }
        return attempt < 3 ? .retryAfter(.milliseconds(1)) : .fail("gave up after \(attempt)")
    }

    static let exports = [
        Export(
            "greet", summary: "Greets.",
            text: { instance, call, name, sink in
                guard let kit = Export.plugin(instance, as: KitFixture.self) else {
                    return OUTLET_E_STALE
                }
                let name = Export.text(name)
                guard !name.isEmpty else {
                    return Export.fail(PluginError("nobody to greet"), instance, call)
                }
                return Export.answer("\(kit.greeting.text), \(name)", instance, sink)
            }),
        Export("half", number: { _, value in value / 2 }),
        Export(
            "directory",
            text: { instance, _, _, sink in
                let kit = Export.plugin(instance, as: KitFixture.self)
                return Export.answer(kit?.host.dataDirectory ?? "none", instance, sink)
            }),
        Export(
            "reverse", signature: "e(cyO)", summary: "Reverses bytes.",
            function: unsafeBitCast(reverse, to: Export.AnyFunction.self)),
        Export(
            "liked", signature: "l(f{b(s)})",
            function: unsafeBitCast(liked, to: Export.AnyFunction.self)),
    ]

    private static let reverse:
        @convention(c) (OpaquePointer?, outlet_call, outlet_view, outlet_sink) -> outlet_status = {
            instance, call, bytes, sink in
            let bytes = Export.bytes(bytes)
            if bytes.isEmpty { return Export.fail(PluginError("nothing there"), instance, call) }
            return Export.answer(bytes: Array(bytes.reversed()), instance, sink)
        }

    /// Asks the caller about three words.
    private static let liked:
        @convention(c) (OpaquePointer?, @convention(c) (outlet_view) -> UInt8) -> Int64 = {
            _, isLiked in
            ["red", "green", "blue"].reduce(0) { count, word in
                word.withCString { isLiked(outlet_text($0)) } == 0 ? count : count + 1
            }
        }
}

/// The greeting of the settings, which can be replaced.
private final class Greeting: Sendable {
    private let state: Mutex<String>

    init(_ settings: KitSettings) { state = Mutex(Self.text(of: settings)) }

    var text: String { state.withLock { $0 } }

    func replace(_ settings: KitSettings) { state.withLock { $0 = Self.text(of: settings) } }

    private static func text(of settings: KitSettings) -> String {
        settings.greeting?.text ?? "hello"
    }
}

private let module = PluginModule(KitFixture.self)

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The entry function of the library, which the host finds by its name.
@c @implementation
public func outlet_module_v1(_ hostMinor: UInt32) -> UnsafePointer<outlet_module>? {
    module.table
}

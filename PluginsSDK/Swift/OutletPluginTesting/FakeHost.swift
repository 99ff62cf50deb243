import COutletFakeHost
import COutletPlugin
import FoundationEssentials
public import OutletPluginKit
import OutletPointers

/// A host for unit tests of a plugin in Swift: tests call the plugin's hooks as methods.
///
/// ```swift
/// let fake = FakeHost()
/// let plugin = try fake.make(Stamp.self, configuration: #"{"header": "X-Test"}"#)
/// let request = fake.request("https://test.example/")
/// try await plugin.prepare(request)
/// #expect(request.current.header("X-Test") == "seen")
/// ```
///
/// It records the plugin's calls, and refuses the changes and answers that Outlet refuses in
/// `prepare`, `adapt` and `process`, also because a request has too many attributes. It does not
/// know which hook runs, so it refuses nothing that Outlet refuses only in some hooks; `outlet
/// plugins check` checks the rest of the contract. Of the services it has HTTP, once
/// ``answerRequests(_:)`` was called.
///
/// Thread: one at a time. Plugins, requests, responses and ``host`` keep the fake host alive.
public final class FakeHost: @unchecked Sendable {
    // @unchecked because tests use it one call after another.

    private let handle = FakeHandle()
    private var answerer: Answerer?
    private var fake: OpaquePointer { handle.fake }

    /// Makes a host without settings, requests and services.
    public init() {}

    /// The host that plugins receive in `init`.
    public var host: Host { Host(table: outlet_fake_table(fake), owner: self) }

    /// Makes an instance as a host does, without validating the configuration by its schema.
    ///
    /// - Parameters:
    ///   - type: The type of the plugin.
    ///   - configuration: A JSON object. Settings of earlier calls stay set if it does not have
    ///     them.
    ///   - dataDirectory: The path of a directory for files of the instance; `nil` for none.
    /// - Throws: The error of the plugin's `init`; `DecodingError` when the text is not a JSON
    ///   object.
    public func make<P: Plugin>(
        _ type: P.Type, configuration: String = "{}", dataDirectory: String? = nil
    ) throws -> P {
        let settings = try JSONDecoder().decode(
            [String: Setting].self, from: Data(configuration.utf8))
        for (key, value) in settings { set(key, value) }
        let host = Host(
            table: outlet_fake_table(fake), dataDirectory: dataDirectory, owner: self)
        defer { outlet_fake_end_configuring(fake) }
        return try P(
            host: host,
            configuration: Configuration(
                host: host, call: outlet_fake_begin_configuring(fake), json: configuration))
    }

    /// Gives an instance another configuration, without validating it by its schema.
    ///
    /// - Parameters:
    ///   - plugin: An instance of ``make(_:configuration:dataDirectory:)``.
    ///   - configuration: A JSON object, which replaces the whole configuration.
    /// - Throws: `PluginError` when the configuration cannot be decoded, or the error of the plugin's
    ///   `reconfigure`.
    public func reconfigure<P: Reconfiguring>(_ plugin: P, configuration: String) throws {
        defer { outlet_fake_end_configuring(fake) }
        try plugin.reconfigure(
            Configuration(
                host: host, call: outlet_fake_begin_configuring(fake), json: configuration))
    }

    private func set(_ key: String, _ value: Setting) {
        outlet_fake_set(fake, key, value.text)
        guard case .object(let members) = value else { return }
        for (name, member) in members { set("\(key).\(name)", member) }
    }

    /// Offers the HTTP service, and answers the requests that plugins send (`Host.send(_:)`).
    ///
    /// - Parameter answer: Returns the reply to a request; `nil` fails the request with the code
    ///   `timed-out`. Called once for each request, on a thread of its own. If the plugin cancels
    ///   the request, its reply is ignored.
    public func answerRequests(_ answer: @escaping @Sendable (HTTPCall) -> HTTPReply?) {
        let answerer = Answerer(handle, answer)
        outlet_fake_offer(fake, "outlet.http/1")
        outlet_fake_when_sent(
            fake,
            { context, nth in
                guard let context else { return }
                let answerer: Answerer = ObjectPointer.object(at: context)
                Task.detached { answerer.answer(nth) }
            }, ObjectPointer.unretained(answerer))
        self.answerer = answerer
    }

    /// Makes a request that can be changed.
    ///
    /// - Parameters:
    ///   - url: The URL; not checked.
    ///   - method: The method.
    ///   - headers: The headers, in order; not checked.
    ///   - body: The body; `nil` for none.
    ///   - attributes: The attributes for `Request.attribute(_:)`, such as `request.id`; none are
    ///     set by default.
    public func request(
        _ url: String, method: String = "GET", headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil, attributes: [String: String] = [:]
    ) -> MutableRequest {
        let handle = outlet_fake_request(fake, method, url)
        let request = MutableRequest(Request(host: host, handle: handle))
        for header in headers {
            // Not as a plugin, which may add fewer. Requests and responses share their handles.
            outlet_fake_add_header(
                fake, outlet_response(id: handle.id), header.name, header.value)
        }
        // Accepted whatever it contains.
        if let body { try? request.setBody(body) }
        for (key, value) in attributes { outlet_fake_set_attr(fake, handle, key, value) }
        return request
    }

    /// Makes a response that can be replaced.
    ///
    /// - Parameters:
    ///   - status: The status code; 0 makes a failure with the code `timedOut`.
    ///   - headers: The headers, in order.
    ///   - body: The body.
    public func response(
        status: Int = 200, headers: [(name: String, value: String)] = [], body: String = ""
    ) -> MutableResponse {
        response(status: status, headers: headers, body: Array(body.utf8))
    }

    /// Makes a response whose body is any bytes, such as compressed ones.
    ///
    /// - Parameters:
    ///   - status: The status code; 0 makes a failure with the code `timedOut`.
    ///   - headers: The headers, in order.
    ///   - body: The body.
    public func response(
        status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8]
    ) -> MutableResponse {
        let handle = handle.response(status: status, headers: headers, body: body)
        return MutableResponse(Response(host: host, handle: handle))
    }

    /// Returns the status with which a plugin answered a request; `nil` if it did not.
    ///
    /// - Parameter request: A request of this fake host, after a hook of the plugin has run.
    public func answer(to request: MutableRequest) -> Int? {
        status(outlet_fake_answer(fake, request.current.handle.id))
    }

    /// Returns the response with which a plugin answered a request; `nil` if it did not.
    ///
    /// - Parameter request: A request of this fake host, after a hook of the plugin has run.
    public func response(to request: MutableRequest) -> Response? {
        let answer = outlet_fake_answered(fake, request.current.handle)
        return answer.id == 0 ? nil : Response(host: host, handle: answer)
    }

    /// Returns the status of the response with which a plugin replaced another; `nil` if it did
    /// not.
    ///
    /// The replaced response can be read as `response.current`.
    ///
    /// - Parameter response: A response of this fake host, after a hook of the plugin has run.
    public func replacement(of response: MutableResponse) -> Int? {
        status(outlet_fake_answer(fake, response.current.handle.id))
    }

    private func status(_ number: Int32) -> Int? { number == 0 ? nil : Int(number) }

    /// How many lines plugins have logged.
    public var logged: Int { Int(outlet_fake_logged(fake)) }
}

/// Owns the fake host of the C SDK.
private final class FakeHandle: @unchecked Sendable {
    // @unchecked because the services of the C host lock what they share.
    let fake: OpaquePointer = outlet_fake_new()

    deinit { outlet_fake_free(fake) }

    /// Makes a response.
    func response(
        status: Int, headers: [(name: String, value: String)], body: [UInt8]
    ) -> outlet_response {
        let response = outlet_fake_response(fake, Int32(clamping: status), "")
        for header in headers { outlet_fake_add_header(fake, response, header.name, header.value) }
        body.withUnsafeBufferPointer { body in
            outlet_fake_set_body(
                fake, response, outlet_view(ptr: body.baseAddress, len: UInt64(body.count)))
        }
        return response
    }
}

/// Answers the requests that plugins send.
private final class Answerer: Sendable {
    private let handle: FakeHandle
    private let answer: @Sendable (HTTPCall) -> HTTPReply?

    init(_ handle: FakeHandle, _ answer: @escaping @Sendable (HTTPCall) -> HTTPReply?) {
        self.handle = handle
        self.answer = answer
    }

    /// Answers the nth request.
    func answer(_ nth: Int) {
        let fake = handle.fake
        let request = Request(
            host: Host(table: outlet_fake_table(fake)), handle: outlet_fake_sent(fake, nth))
        let reply = answer(
            HTTPCall(
                request.method, request.url, headers: request.headers, body: request.body ?? []))
        let response = handle.response(
            status: reply?.status ?? 0, headers: reply?.headers ?? [], body: reply?.body ?? [])
        // The instance is not used: plugins in Swift know their request by its own pointer.
        outlet_fake_respond(fake, fake, nth, response)
    }
}

/// A value of a configuration, as `config_value` returns it.
private indirect enum Setting: Decodable {
    case string(String)
    case object([String: Setting])
    /// Any other value, as its JSON text.
    case other(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let members = try? container.decode([String: Setting].self) {
            self = .object(members)
        } else if let items = try? container.decode([Setting].self) {
            self = .other("[\(items.map(\.json).joined(separator: ","))]")
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let truth = try? container.decode(Bool.self) {
            self = .other("\(truth)")
        } else if let number = try? container.decode(Int64.self) {
            self = .other("\(number)")
        } else if let number = try? container.decode(Double.self) {
            self = .other("\(number)")
        } else {
            self = .other("null")
        }
    }

    /// The value for the plugin: a string unescaped, any other value as JSON.
    var text: String {
        if case .string(let text) = self { text } else { json }
    }

    private var json: String {
        switch self {
        case .other(let json): return json
        case .string(let text): return Self.quoted(text)
        case .object(let members):
            let pairs = members.map { "\(Self.quoted($0.key)):\($0.value.json)" }
            return "{\(pairs.joined(separator: ","))}"
        }
    }

    private static func quoted(_ text: String) -> String {
        (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
}

import COutletFakeHost
import FoundationEssentials
public import OutletPluginKit

/// A host for the unit tests of a plugin in Swift: its hooks are called as methods, without Outlet.
///
/// ```swift
/// let fake = FakeHost()
/// let plugin = try fake.make(Stamp.self, configuration: #"{"header": "X-Test"}"#)
/// let request = fake.request("https://test.example/")
/// try await plugin.prepare(request)
/// #expect(request.current.header("X-Test") == "seen")
/// ```
///
/// It records the plugin's calls and checks little: whether a plugin keeps to the contract is for
/// `outlet plugins check` to find. There are no services.
///
/// Thread: one at a time. What it hands out is valid as long as it lives.
public final class FakeHost: @unchecked Sendable {
    // @unchecked because tests use it one call after another.

    private let fake: OpaquePointer

    /// Makes a host without requests.
    public init() { fake = outlet_fake_new() }

    deinit { outlet_fake_free(fake) }

    /// What plugins are given.
    public var host: Host { Host(table: outlet_fake_table(fake)) }

    /// Makes an instance as a host does, but for holding the configuration against the schema.
    ///
    /// - Parameter configuration: A JSON object.
    /// - Throws: What the plugin throws, or why the text is no JSON object.
    public func make<P: Plugin>(_ type: P.Type, configuration: String = "{}") throws -> P {
        let settings = try JSONDecoder().decode(
            [String: Setting].self, from: Data(configuration.utf8))
        for (key, value) in settings { set(key, value) }
        return try P(
            host: host,
            configuration: Configuration(
                host: host, call: outlet_fake_call(fake), json: configuration))
    }

    private func set(_ key: String, _ value: Setting) {
        outlet_fake_set(fake, key, value.text)
        guard case .object(let members) = value else { return }
        for (name, member) in members { set("\(key).\(name)", member) }
    }

    /// Makes a request that can be changed.
    ///
    /// - Parameters:
    ///   - url: Taken as it is.
    ///   - attributes: Facts as of ``Request/attribute(_:)``.
    public func request(
        _ url: String, method: String = "GET", headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil, attributes: [String: String] = [:]
    ) -> MutableRequest {
        let handle = outlet_fake_request(fake, method, url)
        let request = MutableRequest(Request(host: host, handle: handle))
        // The host takes all of these.
        for header in headers { try? request.addHeader(header.name, header.value) }
        if let body { try? request.setBody(body) }
        for (key, value) in attributes { try? request.setAttribute(key, value) }
        return request
    }

    /// Makes a response that can be replaced.
    ///
    /// - Parameter status: 0 is a failure, of the code `timedOut`.
    public func response(
        status: Int = 200, headers: [(name: String, value: String)] = [], body: String = ""
    ) -> MutableResponse {
        let handle = outlet_fake_response(fake, Int32(clamping: status), body)
        for header in headers { outlet_fake_add_header(fake, handle, header.name, header.value) }
        return MutableResponse(Response(host: host, handle: handle))
    }

    /// The status that a request was answered with; `nil` where it was not.
    public func answer(to request: MutableRequest) -> Int? {
        status(outlet_fake_answer(fake, request.current.handle.id))
    }

    /// The status that a response was replaced by; `nil` where it was not.
    public func replacement(of response: MutableResponse) -> Int? {
        status(outlet_fake_answer(fake, response.current.handle.id))
    }

    private func status(_ number: Int32) -> Int? { number == 0 ? nil : Int(number) }

    /// How many lines were logged.
    public var logged: Int { Int(outlet_fake_logged(fake)) }
}

/// A value of a configuration, as `config_value` gives it.
private indirect enum Setting: Decodable {
    case string(String)
    case object([String: Setting])
    /// Anything else, as its JSON text.
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

    /// As the plugin gets it: text unescaped, anything else as JSON.
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

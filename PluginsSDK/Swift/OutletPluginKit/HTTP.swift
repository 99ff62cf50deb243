import COutletPlugin
import OutletPointers
import Synchronization

/// A request that a plugin sends itself, by ``Host/send(_:)``.
public struct HTTPCall: Sendable {
    /// The method, but not `CONNECT`.
    public var method: String
    /// The URL, absolute, http or https.
    public var url: String
    /// The headers, in order; `Host` and `Content-Length` are not allowed.
    public var headers: [(name: String, value: String)]
    /// The body; empty for none, as it must be for `GET` and `HEAD`.
    public var body: [UInt8]
    /// The time limit for the whole request, redirects included; zero and less mean 30 seconds.
    public var timeout: Duration
    /// Whether redirects are followed to servers that the plugin is granted.
    ///
    /// A redirect that is not followed is the reply.
    public var followsRedirects = true

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: The method, but not `CONNECT`.
    ///   - url: The URL, absolute, http or https. Its server must be granted to the plugin.
    ///   - headers: The headers, in order; `Host` and `Content-Length` are not allowed.
    ///   - body: The body; empty for none, as it must be for `GET` and `HEAD`.
    ///   - timeout: The time limit for the whole request, redirects included; 30 seconds by
    ///     default.
    public init(
        _ method: String, _ url: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = [], timeout: Duration = .seconds(30)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }

    /// Makes a GET request without a body.
    ///
    /// - Parameters:
    ///   - url: The URL, absolute, http or https. Its server must be granted to the plugin.
    ///   - headers: The headers, in order; `Host` and `Content-Length` are not allowed.
    ///   - timeout: The time limit for the whole request, redirects included; 30 seconds by
    ///     default.
    public init(
        _ url: String, headers: [(name: String, value: String)] = [],
        timeout: Duration = .seconds(30)
    ) {
        self.init("GET", url, headers: headers, timeout: timeout)
    }
}

/// The response to a request that a plugin sent.
public struct HTTPReply: Sendable {
    /// The status code.
    public let status: Int
    /// The headers, in order.
    public let headers: [(name: String, value: String)]
    /// The body; empty without one.
    public let body: [UInt8]

    /// Makes a response, for tests of plugins.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The headers, in order.
    ///   - body: The body; empty without one.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns the first value of a header; `nil` if there is none.
    ///
    /// - Parameter name: The name, in any case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

extension Host {
    /// Sends a request, and returns the response, whatever its status.
    ///
    /// Uses the session of the hook in which it is called, or, outside of hooks and in tasks that
    /// run longer than theirs, one of the program's sessions. This plugin's own hooks, and those of
    /// the plugins that were called for the same request before, are skipped. Cancelling the task
    /// cancels the request. At most 64 requests of an instance may run at the same time.
    ///
    /// - Parameter call: The request.
    /// - Throws: ``PluginError`` when the request cannot be sent or failed. Its
    ///   ``PluginError/status`` is `OUTLET_E_ARGUMENT` for a malformed request, `OUTLET_E_DENIED`
    ///   when the server is not granted or the plugin requests no permission `net:`,
    ///   `OUTLET_E_STATE` when there is no session or too many requests run. Its
    ///   ``PluginError/code`` is `unsupported` when the host has no HTTP service, and that of the
    ///   failure, such as `timed-out`, when the request was sent and failed.
    ///
    /// Thread: any; not in `init` of the plugin.
    public func send(_ call: HTTPCall) async throws(PluginError) -> HTTPReply {
        let http: UnsafePointer<outlet_http> = try service(
            OUTLET_HTTP_1, without: "this host sends no requests for plugins")
        let exchange = Exchange(http: http, table: table)
        let reply = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                exchange.begin(call, continuation)
            }
        } onCancel: {
            exchange.cancel()
        }
        return try reply.get()
    }

    /// Returns a service's table.
    ///
    /// - Parameter fact: What a host without the service cannot do, for the error.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_DENIED` if the plugin does not request
    ///   the permission that the service needs, with the code `unsupported` if the host does not
    ///   offer the service.
    func service<Table>(
        _ name: String, without fact: String
    ) throws(PluginError) -> UnsafePointer<Table> {
        var found: UnsafeRawPointer?
        let status = withView(name) { table.pointee.extension(table, $0, &found) }
        if status == OUTLET_OK, let found { return found.assumingMemoryBound(to: Table.self) }
        guard status == OUTLET_E_DENIED else { throw PluginError(fact, code: "unsupported") }
        var error = PluginError(
            "\(name) needs a permission that the plugin does not request: net:HOST in the "
                + "permissions of its info and its manifest")
        error.status = status
        throw error
    }
}

/// Why the host sends no request.
private let refusals: KeyValuePairs = [
    OUTLET_E_DENIED: "its server is not granted to this plugin (net:HOST in its permissions)",
    OUTLET_E_STATE:
        "the plugin has \(OUTLET_MAX_EXCHANGES) requests in progress, or can send none now: in init, "
        + "at its end, and without a session",
]

/// `OUTLET_HTTP_NO_REDIRECTS`, a macro that Swift does not import.
private let noRedirects: UInt32 = 1

/// One unfinished request, and the continuation that waits for it.
private final class Exchange: Sendable {
    typealias Reply = Result<HTTPReply, PluginError>

    private struct State: Sendable {
        var continuation: CheckedContinuation<Reply, Never>?
        var id: UInt64 = 0
        var isCancelled = false
    }

    // Both `nonisolated(unsafe)` because the host's tables are read-only and never freed.
    private nonisolated(unsafe) let http: UnsafePointer<outlet_http>
    private nonisolated(unsafe) let table: UnsafePointer<outlet_host>
    private let state = Mutex(State())

    init(http: UnsafePointer<outlet_http>, table: UnsafePointer<outlet_host>) {
        // Both tables are constant as long as the instance exists.
        self.http = http
        self.table = table
    }

    func begin(_ call: HTTPCall, _ continuation: CheckedContinuation<Reply, Never>) {
        state.withLock { $0.continuation = continuation }
        var exchange = outlet_exchange()
        let status = withView(call.method) { method in
            withView(call.url) { url in
                withFields(call.headers) { fields, count in
                    withView(call.body) { body in
                        var request = outlet_http_request(
                            struct_size: UInt32(MemoryLayout<outlet_http_request>.size),
                            flags: call.followsRedirects ? 0 : noRedirects, method: method,
                            url: url, fields: fields,
                            field_count: count, body: body, timeout_ns: nanoseconds(call.timeout))
                        // The host owns this reference until it calls back.
                        let data = ObjectPointer.retained(self)
                        let status = HookCall.withCurrent(of: table) {
                            http.pointee.send(
                                table, $0, &request, { exchangeDone($0, $1, $2, $3) }, data,
                                &exchange)
                        }
                        if status != OUTLET_OK { ObjectPointer.release(data) }
                        return status
                    }
                }
            }
        }
        guard status == OUTLET_OK else {
            let error = PluginError(status: status, refusing: "request", because: refusals)
            return end(.failure(error))
        }
        let isCancelled = state.withLock { state in
            state.id = exchange.id
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }

    func cancel() {
        let id = state.withLock { state in
            state.isCancelled = true
            return state.id
        }
        if id != 0 { _ = http.pointee.cancel(table, outlet_exchange(id: id)) }
    }

    func end(_ handle: outlet_response) {
        let response = Response(host: Host(table: table), handle: handle)
        guard let status = response.status, response.failure == nil else {
            let failure = response.failure ?? ("unknown", "no response")
            return end(
                .failure(PluginError(failure.message, code: failure.code.hyphenated)))
        }
        end(.success(HTTPReply(status: status, headers: response.headers, body: response.body)))
    }

    private func end(_ reply: Reply) {
        let continuation = state.withLock { $0.continuation.take() }
        continuation?.resume(returning: reply)
    }
}

private func exchangeDone(
    _ instance: OpaquePointer, _ call: outlet_call, _ response: outlet_response,
    _ data: UnsafeMutableRawPointer?
) {
    guard let data else { return }
    let exchange = ObjectPointer.takeRetained(data, as: Exchange.self)
    exchange.end(response)
}

extension String {
    /// A code of the host in the form of plugin codes: `timed-out` for `timedOut`.
    fileprivate var hyphenated: String {
        reduce(into: "") { word, letter in
            if letter.isUppercase { word += "-" }
            word += letter.lowercased()
        }
    }
}

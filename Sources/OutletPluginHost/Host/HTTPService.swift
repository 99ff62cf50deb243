import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// The service `outlet.http/1`: sends HTTP requests of a plugin through a session.
///
/// The plugin's own hooks are not called for them.
enum HTTPService {
    static let name = "outlet.http/1"

    /// The table that all plugins share; `nil` if there is no memory for it.
    // `nonisolated(unsafe)` because it is written once, before any read, and never freed.
    nonisolated(unsafe) static let table = ReadOnlyMemory.copy(
        outlet_http(
            struct_size: UInt32(MemoryLayout<outlet_http>.size), reserved: 0,
            send: { HTTPService.send($0, $1, $2, $3, $4, $5) },
            cancel: { HTTPService.cancel($0, $1) }))

    private typealias Call = ServiceCall<ResponseHandle.Outcome>

    private static func send(
        _ host: HostTable.Table, _ call: outlet_call, _ asked: UnsafePointer<outlet_http_request>,
        _ done: outlet_http_done, _ data: UnsafeMutableRawPointer?,
        _ out: UnsafeMutablePointer<outlet_exchange>
    ) -> outlet_status {
        guard UInt(bitPattern: out) != 0, !isNull(done), UInt(bitPattern: asked) != 0 else {
            let name =
                isNull(done)
                ? "done" : UInt(bitPattern: out) == 0 ? "place for the result" : "request"
            return HostTable.refuse(host, "send", .missing(name: name))
        }
        guard let owner = HostTable.serving(host, "send") else { return OUTLET_E_STALE }
        var request: HTTPRequest
        do throws(UnsentRequest) {
            request = try HTTPRequest(asked)
        } catch {
            owner.reportUnsent(error.reason, error.refused, in: call)
            return OUTLET_E_ARGUMENT
        }
        var origin: CallOrigin?
        if call.id != 0 {
            guard let context = HostTable.find(host, call.id, CallContext.self) else {
                return OUTLET_E_STALE
            }
            let caller = (context as? Completion)?.argument(.request) as? RequestHandle
            origin =
                caller?.origin ?? (context as? ServiceHook)?.origin
                ?? (context as? OriginContext)?.origin
        }
        guard let instance = HostTable.instance(host),
            let session = origin?.session() ?? instance.sessions.first
        else { return OUTLET_E_STATE }
        let grants = instance.owner.grants
        guard grants.allowsNetwork(to: request.url) else {
            let server = request.url.flatMap { try? Origin($0) }.map {
                " \($0.bracketedHost):\($0.port)"
            }
            owner.reportUnsent("no permission is for its server\(server ?? "")", in: call)
            return OUTLET_E_DENIED
        }
        let flags = asked.pointee.flags
        guard flags & ~UInt32(OUTLET_HTTP_NO_REDIRECTS) == 0 else {
            owner.reportUnsent("this host does not know its flags \(flags)", in: call)
            return OUTLET_E_UNSUPPORTED
        }
        request.context.exclude(instance, and: origin?.excluded)
        request.context.exceedsLimits = true
        request.context.limit(to: grants)
        let limit = asked.pointee.timeout_ns
        let data = UInt(bitPattern: data)
        let exchange = Call(
            of: instance, .httpDone, name: "\(request)",
            origin: CallOrigin(
                session: { [weak session] in session }, excluded: request.excludedPlugins),
            makeResponse: { ResponseHandle($0, isMutable: false) },
            callPlugin: { pointer, call, _, completion in
                done(
                    pointer, call, completion.response,
                    UnsafeMutableRawPointer(bitPattern: data))
            })
        let closed = ResponseHandle.Outcome.failure(
            "sessionClosed", "the plugin is being shut down")
        guard
            let id = try? exchange.begin(limit: Int(OUTLET_MAX_EXCHANGES), closed: { closed })
        else { return OUTLET_E_STATE }
        out.pointee = outlet_exchange(id: id)
        let redirects: any RedirectHandler =
            flags & UInt32(OUTLET_HTTP_NO_REDIRECTS) == 0
            ? GrantedRedirects(grants: grants, handler: session.redirectHandler)
            : Redirector.doNotFollow
        let sent = session.request(request, shouldAutomaticallyResume: false)
            .redirect(using: redirects)
        begin(exchange, sent, in: session, limit: limit == 0 ? 30_000_000_000 : limit)
        return OUTLET_OK
    }

    private static func begin(
        _ exchange: Call, _ sent: DataRequest, in session: Session, limit: UInt64
    ) {
        let timer = DeadlineTimer(limit) {
            exchange.end(.failure("timedOut", "no answer within \(Double(limit) / 1e9) s"))
        }
        exchange.stops {
            timer.cancel()
            sent.cancel()
        }
        // The session is retained until the plugin has received the outcome.
        sent.response(queue: .global()) { response in
            withExtendedLifetime(session) {
                exchange.end(
                    ResponseHandle.Outcome(
                        response: response.response, body: response.data ?? Data(),
                        failure: response.error.map { FailureText.of($0) }))
            }
        }
        sent.resume()
    }

    private static func cancel(
        _ host: HostTable.Table, _ exchange: outlet_exchange
    ) -> outlet_status {
        guard let call = HostTable.findOwn(host, exchange.id, Call.self) else {
            return OUTLET_E_STALE
        }
        call.cancel(with: .failure("cancelled", "the plugin cancelled it"))
        return OUTLET_OK
    }
}

/// Follows redirects to servers that the plugin's permissions allow.
///
/// The response of any other redirect is the outcome of the request.
private struct GrantedRedirects: RedirectHandler {
    let grants: Grants
    /// Decides about allowed redirects; `nil` follows them.
    let handler: (any RedirectHandler)?

    func task(
        _ task: any TransferTask, willBeRedirectedTo request: HTTPRequest,
        for response: HTTPResponse, completion: @escaping @Sendable (HTTPRequest?) -> Void
    ) {
        guard grants.allowsNetwork(to: request.url) else { return completion(nil) }
        guard let handler else { return completion(request) }
        handler.task(task, willBeRedirectedTo: request, for: response) { [grants] next in
            completion(next.flatMap { grants.allowsNetwork(to: $0.url) ? $0 : nil })
        }
    }
}

extension Grants {
    /// Whether requests may be sent to the server of a URL.
    fileprivate func allowsNetwork(to url: URL?) -> Bool {
        guard let url, let origin = try? Origin(url) else { return false }
        return allowsNetwork(to: origin)
    }
}

extension ResponseHandle.Outcome {
    /// An outcome without a response.
    static func failure(_ code: String, _ message: String) -> Self {
        Self(response: nil, body: Data(), failure: (code: code, message: message))
    }
}

extension HTTPRequest {
    /// Copies and checks a request of a plugin.
    ///
    /// - Throws: ``UnsentRequest`` if a part is not valid in HTTP, not allowed or too large.
    fileprivate init(_ asked: UnsafePointer<outlet_http_request>) throws(UnsentRequest) {
        let table: outlet_http_request
        do {
            table = try copyTable(
                asked, "its request", size: asked.pointee.struct_size, least: 80,
                empty: outlet_http_request())
        } catch {
            throw UnsentRequest(error.reason)
        }
        let method = try UnsentRequest.text(table.method, .name, "method")
        let text = try UnsentRequest.text(table.url, .value, "url")
        // As in the changes of a request: the transport sends CONNECT, and makes Content-Length of
        // the body. `Host` could name a server that the plugin may not send requests to. Neither GET
        // nor HEAD has a body.
        guard method.isEmpty || isToken(method), method != "CONNECT" else {
            throw UnsentRequest(RequestChange.fault(inMethod: method))
        }
        guard let url = URL(ofPlugin: text) else {
            throw UnsentRequest(RequestChange.fault(inURL: text))
        }
        guard let headers = HTTPHeaders(table.fields, table.field_count) else {
            throw UnsentRequest(
                RequestChange.fault(inFields: table.fields, table.field_count)
                    ?? "its fields are not valid in HTTP")
        }
        if let index = headers.firstIndex(where: \.isFraming) {
            let number = headers.distance(from: headers.startIndex, to: index) + 1
            throw UnsentRequest("its field \(number), '\(headers[index].name)', the transport sets")
        }
        guard let body = table.body.foreign(.body) else {
            let refused = table.body.refusal(.body, "body")
            throw UnsentRequest(refused?.fact ?? "its body cannot be read", refused)
        }
        self.init(
            url: url, method: method.isEmpty ? .get : HTTPMethod(rawValue: method))
        guard body.isEmpty || self.method != .get && self.method != .head else {
            throw UnsentRequest("it has a body, which \(self.method.rawValue) must not have")
        }
        self.headers = headers
        if !body.isEmpty { self.body = .data(Data(body)) }
    }
}

/// Why a request of a plugin is not sent.
private struct UnsentRequest: Error {
    /// What is wrong, with the part of the request.
    let reason: String
    /// What is wrong with a text; `nil` for others.
    let refused: RefusedText?

    init(_ reason: String, _ refused: RefusedText? = nil) {
        self.reason = reason
        self.refused = refused
    }

    /// Copies a text of the request.
    static func text(
        _ view: outlet_view, _ limit: outlet_view.Limit, _ name: String
    ) throws(UnsentRequest) -> String {
        do {
            return try view.text(limit, name)
        } catch {
            throw UnsentRequest(error.fact, error)
        }
    }
}

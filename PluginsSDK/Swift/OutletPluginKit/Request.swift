import COutletPlugin

/// A request as a hook receives it; each property is read from the host when it is used.
///
/// Valid until the hook returns; afterwards all values are empty or `nil`.
public struct Request: Sendable {
    let host: Host
    package let handle: outlet_request

    package init(host: Host, handle: outlet_request) {
        self.host = host
        self.handle = handle
    }

    /// The call's id (a UUID), the same in all hooks and attempts of one call.
    public var id: String { attribute("request.id") ?? "" }
    /// The method, such as `GET`.
    public var method: String { view(host.table.pointee.request_method)?.string ?? "" }
    /// The URL.
    public var url: String { view(host.table.pointee.request_url)?.string ?? "" }
    /// The body in memory, empty without one; `nil` if it is a file or a stream, which
    /// ``readBody(at:into:)`` reads.
    public var body: [UInt8]? { view(host.table.pointee.request_body)?.bytes }
    /// All headers, in order; values that are not UTF-8 are decoded as Latin-1.
    public var headers: [(name: String, value: String)] {
        readFields { host.table.pointee.request_headers(host.table, handle, $0, $1, $2) }
    }

    /// Returns the first value of a header; `nil` if there is none.
    ///
    /// A value that is not UTF-8 is decoded as Latin-1; ``headerBytes(_:)`` returns its bytes.
    ///
    /// - Parameter name: The name, in any case.
    public func header(_ name: String) -> String? {
        headerView(name) { $0.fieldText }
    }

    /// Returns the bytes of the first value of a header; `nil` if there is none.
    ///
    /// - Parameter name: The name, in any case.
    public func headerBytes(_ name: String) -> [UInt8]? {
        headerView(name) { $0.bytes }
    }

    private func headerView<Value>(_ name: String, _ body: (outlet_view) -> Value) -> Value? {
        withView(name) { name in
            view { host.table.pointee.request_header($0, $1, name, 0, $2) }.map(body)
        }
    }

    /// Returns an attribute of the request; `nil` if there is none.
    ///
    /// - Parameter key: The attribute's key: `request.id`, `request.attempt` (from 1),
    ///   `request.redirects` (from 1, for redirect hops), `target.name`, `target.base_url`,
    ///   `target.path`, `target.authorization`, an attribute of the target, or one that a plugin
    ///   set by ``MutableRequest/setAttribute(_:_:)``.
    public func attribute(_ key: String) -> String? {
        withView(key) { key in
            view { host.table.pointee.request_attr($0, $1, key, $2) }?.string
        }
    }

    /// Reads a part of the body from memory, a file or a stream.
    ///
    /// A stream is read forwards; an earlier offset rewinds it, and fails the request if the stream
    /// cannot be rewound. May block on a disk.
    ///
    /// - Parameters:
    ///   - offset: Where the part begins, in bytes.
    ///   - buffer: Receives the bytes; at most 1 GiB is read at once.
    /// - Returns: How many bytes were read; 0 at the end.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_STATE` when the body cannot be read, for
    ///   example because it is being sent, `OUTLET_E_FAILED` when reading failed, `OUTLET_E_STALE`
    ///   after the hook.
    public func readBody(
        at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(PluginError) -> Int {
        var count: UInt64 = 0
        let status = host.table.pointee.request_body_read(
            host.table, handle, offset,
            buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(buffer.count), &count)
        try PluginError.check(
            status, "body",
            because: [OUTLET_E_STATE: "it is being sent, or read on another thread"])
        return Int(count)
    }

    private func view(
        _ read: (
            UnsafePointer<outlet_host>, outlet_request, UnsafeMutablePointer<outlet_view>
        ) -> outlet_status
    ) -> outlet_view? {
        var value = outlet_view()
        return read(host.table, handle, &value) == OUTLET_OK ? value : nil
    }
}

/// Why the host does not change a header.
private let headerRefusals: KeyValuePairs = [
    OUTLET_E_ARGUMENT:
        "it is not valid in HTTP, only the transport sets it, or there are \(OUTLET_MAX_FIELDS) "
        + "already",
    OUTLET_E_DENIED: "only the host sets it",
]

/// A request that a hook may change.
///
/// Valid until the hook returns. Every change throws ``PluginError`` with the status
/// `OUTLET_E_STALE` afterwards, and `OUTLET_E_STATE` or `OUTLET_E_DENIED` in hooks that do not
/// allow it.
public struct MutableRequest: Sendable {
    /// The request for reading, changes included.
    public let current: Request

    private var table: UnsafePointer<outlet_host> { current.host.table }
    private var handle: outlet_request { current.handle }

    package init(_ request: Request) { current = request }

    /// Sets the method.
    ///
    /// - Parameter method: A token (RFC 9110 §5.6.2), but not `CONNECT`.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_ARGUMENT` for an invalid method.
    public func setMethod(_ method: String) throws(PluginError) {
        try PluginError.check(
            withView(method) { table.pointee.request_set_method(table, handle, $0) }, "method")
    }

    /// Sets the URL.
    ///
    /// - Parameter url: An absolute http or https URL; characters that it cannot have are
    ///   percent-encoded, and escapes are kept.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_ARGUMENT` for any other URL.
    public func setURL(_ url: String) throws(PluginError) {
        try PluginError.check(
            withView(url) { table.pointee.request_set_url(table, handle, $0) }, "address")
    }

    /// Sets a header, and replaces all of the same name.
    ///
    /// - Parameters:
    ///   - name: The name, a token; existing ones are found in any case.
    ///   - value: The value, at most 64 KiB.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_ARGUMENT` when the header is malformed
    ///   or there are more than 2,000, `OUTLET_E_DENIED` for `Content-Length`, which the host sets.
    public func setHeader(_ name: String, _ value: String) throws(PluginError) {
        try setHeader(name, bytes: Array(value.utf8))
    }

    /// Sets a header to bytes that need not be UTF-8, and replaces all of the same name.
    ///
    /// - Parameters:
    ///   - name: The name, a token; existing ones are found in any case.
    ///   - bytes: The value, at most 64 KiB, without control characters other than HTAB.
    /// - Throws: ``PluginError`` as ``setHeader(_:_:)``.
    public func setHeader(_ name: String, bytes: [UInt8]) throws(PluginError) {
        let status = withView(name) { name in
            withView(bytes) { table.pointee.request_set_header(table, handle, name, $0) }
        }
        try PluginError.check(status, "header \(name)", because: headerRefusals)
    }

    /// Adds a header after the existing ones.
    ///
    /// - Parameters:
    ///   - name: The name, a token.
    ///   - value: The value, at most 64 KiB.
    /// - Throws: ``PluginError`` as ``setHeader(_:_:)``.
    public func addHeader(_ name: String, _ value: String) throws(PluginError) {
        let status = withView(name) { name in
            withView(value) { table.pointee.request_add_header(table, handle, name, $0) }
        }
        try PluginError.check(status, "header \(name)", because: headerRefusals)
    }

    /// Removes all headers of a name.
    ///
    /// - Parameter name: The name, in any case; nothing happens if there is none.
    /// - Throws: ``PluginError`` in hooks that do not allow the change.
    public func removeHeader(_ name: String) throws(PluginError) {
        try PluginError.check(
            withView(name) { table.pointee.request_remove_header(table, handle, $0) },
            "header \(name)", because: headerRefusals)
    }

    /// Sets the body, and removes `Content-Length`, which the host sets.
    ///
    /// - Parameter body: The bytes, at most 1 GiB; an empty array sets an empty body.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_ARGUMENT` for a larger body.
    public func setBody(_ body: [UInt8]) throws(PluginError) {
        try PluginError.check(
            withView(body) { table.pointee.request_set_body(table, handle, $0) }, "body")
    }

    /// Sets an attribute for later hooks and other plugins; it is never sent.
    ///
    /// - Parameters:
    ///   - key: The key, 1 to 1,024 bytes; not one that begins with `target.`, `request.` or
    ///     `outlet.`.
    ///   - value: The value, at most 64 KiB.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_DENIED` for a reserved key,
    ///   `OUTLET_E_ARGUMENT` beyond a limit.
    public func setAttribute(_ key: String, _ value: String) throws(PluginError) {
        let status = withView(key) { key in
            withView(value) { table.pointee.request_set_attr(table, handle, key, $0) }
        }
        try PluginError.check(
            status, "attribute \(key)",
            because: [OUTLET_E_DENIED: "only the host sets those with its prefix"])
    }

    /// Answers the request instead of the network; later hooks run as for any response.
    ///
    /// - Parameters:
    ///   - status: The status code, 200 to 599.
    ///   - headers: The headers, in order.
    ///   - body: The body; must be empty for 204 and 304, and in an answer to `HEAD`.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_ARGUMENT` when an argument is invalid,
    ///   `OUTLET_E_STATE` in hooks that cannot answer (``RequestFinalizing`` and
    ///   ``RedirectDeciding``).
    public func answer(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) throws(PluginError) {
        let answered = withFields(headers) { fields, count in
            withView(body) {
                table.pointee.request_answer(
                    table, handle, Int32(clamping: status), fields, count, $0)
            }
        }
        try PluginError.check(answered, "answer")
    }
}

import COutletPlugin

/// A request as a hook sees it; the values are read from the host when asked for.
///
/// Dead when the hook returns: then everything reads as empty.
public struct Request: Sendable {
    let host: Host
    package let handle: outlet_request

    package init(host: Host, handle: outlet_request) {
        self.host = host
        self.handle = handle
    }

    /// The call's id, the same in all hooks of one call and in every attempt.
    public var id: String { attribute("request.id") ?? "" }
    /// The method, such as `GET`.
    public var method: String { view(host.table.pointee.request_method)?.string ?? "" }
    /// The address.
    public var url: String { view(host.table.pointee.request_url)?.string ?? "" }
    /// The body in memory; `nil` when it comes from a file or a stream, which ``readBody(at:into:)`` reads.
    public var body: [UInt8]? { view(host.table.pointee.request_body)?.bytes }
    /// All header fields in order.
    public var headers: [(name: String, value: String)] {
        readFields { host.table.pointee.request_headers(host.table, handle, $0, $1, $2) }
    }

    /// The first value of a header; its name's case is ignored.
    public func header(_ name: String) -> String? {
        withView(name) { name in
            view { host.table.pointee.request_header($0, $1, name, 0, $2) }?.string
        }
    }

    /// A fact about the request, such as `target.name`, `request.id` or `request.attempt`.
    public func attribute(_ key: String) -> String? {
        withView(key) { key in
            view { host.table.pointee.request_attr($0, $1, key, $2) }?.string
        }
    }

    /// Reads a part of the body, whatever it comes from: memory, a file, a stream.
    ///
    /// A stream is read in order, or again from its start. May block on a disk.
    ///
    /// - Parameters:
    ///   - offset: Where the part begins, in bytes.
    ///   - buffer: Filled as far as there are bytes.
    /// - Returns: How many bytes were read; 0 at the end.
    /// - Throws: ``PluginError`` when the body cannot be read.
    public func readBody(
        at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(PluginError) -> Int {
        var count: UInt64 = 0
        let status = host.table.pointee.request_body_read(
            host.table, handle, offset,
            buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(buffer.count), &count)
        try PluginError.check(status, "body")
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

/// A request that a hook may change.
///
/// One hook at a time holds it; every change throws ``PluginError`` once the request is over.
public struct MutableRequest: Sendable {
    /// What can be read of it, changes included.
    public let current: Request

    private var table: UnsafePointer<outlet_host> { current.host.table }
    private var handle: outlet_request { current.handle }

    package init(_ request: Request) { current = request }

    /// Sets the method; must be a token (RFC 9110 §5.6.2).
    public func setMethod(_ method: String) throws(PluginError) {
        try PluginError.check(
            withView(method) { table.pointee.request_set_method(table, handle, $0) }, "method")
    }

    /// Sets the address; must be an absolute http or https URL.
    public func setURL(_ url: String) throws(PluginError) {
        try PluginError.check(
            withView(url) { table.pointee.request_set_url(table, handle, $0) }, "address")
    }

    /// Sets a header in place of all of that name.
    public func setHeader(_ name: String, _ value: String) throws(PluginError) {
        let status = withView(name) { name in
            withView(value) { table.pointee.request_set_header(table, handle, name, $0) }
        }
        try PluginError.check(status, "header \(name)")
    }

    /// Adds a header behind the others.
    public func addHeader(_ name: String, _ value: String) throws(PluginError) {
        let status = withView(name) { name in
            withView(value) { table.pointee.request_add_header(table, handle, name, $0) }
        }
        try PluginError.check(status, "header \(name)")
    }

    /// Removes all headers of a name.
    public func removeHeader(_ name: String) throws(PluginError) {
        try PluginError.check(
            withView(name) { table.pointee.request_remove_header(table, handle, $0) },
            "header \(name)")
    }

    /// Sets the body.
    public func setBody(_ body: [UInt8]) throws(PluginError) {
        try PluginError.check(
            withView(body) { table.pointee.request_set_body(table, handle, $0) }, "body")
    }

    /// Leaves a fact for later hooks and other plugins; it is never sent.
    public func setAttribute(_ key: String, _ value: String) throws(PluginError) {
        let status = withView(key) { key in
            withView(value) { table.pointee.request_set_attr(table, handle, key, $0) }
        }
        try PluginError.check(status, "attribute \(key)")
    }

    /// Answers the request in place of the network.
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

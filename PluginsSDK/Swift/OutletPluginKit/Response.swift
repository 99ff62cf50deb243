import COutletPlugin

/// The response or failure of a request as a hook receives it; each property is read from the host
/// when it is used.
///
/// Valid until the hook returns; afterwards all values are empty or `nil`.
public struct Response: Sendable {
    let host: Host
    package let handle: outlet_response

    package init(host: Host, handle: outlet_response) {
        self.host = host
        self.handle = handle
    }

    /// The status code; `nil` if no response arrived.
    public var status: Int? {
        var status: Int32 = 0
        let answer = host.table.pointee.response_status(host.table, handle, &status)
        return answer == OUTLET_OK ? Int(status) : nil
    }

    /// Why the request failed: a stable code such as `timedOut`, and a text; `nil` if it succeeded.
    public var failure: (code: String, message: String)? {
        var code = outlet_view()
        var message = outlet_view()
        guard host.table.pointee.response_error(host.table, handle, &code, &message) == OUTLET_OK
        else {
            return nil
        }
        return (code.string, message.string)
    }

    /// All headers, in order; values that are not UTF-8 are decoded as Latin-1.
    public var headers: [(name: String, value: String)] {
        readFields { host.table.pointee.response_headers(host.table, handle, $0, $1, $2) }
    }

    /// The body in memory; empty without one, and for downloads, whose file ``readBody(at:into:)``
    /// reads.
    public var body: [UInt8] {
        var value = outlet_view()
        guard host.table.pointee.response_body(host.table, handle, &value) == OUTLET_OK else {
            return []
        }
        return value.bytes
    }

    /// Reads a part of the body, from memory or from the file of a download.
    ///
    /// May block on a disk.
    ///
    /// - Parameters:
    ///   - offset: Where the part begins, in bytes.
    ///   - buffer: Receives the bytes; at most 1 GiB is read at once.
    /// - Returns: How many bytes were read; 0 at the end.
    /// - Throws: ``PluginError`` as ``Request/readBody(at:into:)``.
    public func readBody(
        at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(PluginError) -> Int {
        var count: UInt64 = 0
        let status = host.table.pointee.response_body_read(
            host.table, handle, offset,
            buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(buffer.count), &count)
        try PluginError.check(status, "body")
        return Int(count)
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
            var value = outlet_view()
            guard
                host.table.pointee.response_header(host.table, handle, name, 0, &value)
                    == OUTLET_OK
            else { return nil }
            return body(value)
        }
    }
}

/// A response or failure that a hook may replace, until the hook returns.
public struct MutableResponse: Sendable {
    /// The response for reading, changes included.
    public let current: Response

    package init(_ response: Response) { current = response }

    /// Replaces the response or failure by another response.
    ///
    /// - Parameters:
    ///   - status: The status code, 200 to 599.
    ///   - headers: The headers, in order.
    ///   - body: The body; must be empty for 204 and 304. For a download or a WebSocket a body
    ///     fails the request.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_ARGUMENT` when an argument is invalid,
    ///   `OUTLET_E_STALE` after the hook.
    public func replace(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) throws(PluginError) {
        let table = current.host.table
        let replaced = withFields(headers) { fields, count in
            withView(body) {
                table.pointee.response_replace(
                    table, current.handle, Int32(clamping: status), fields, count, $0)
            }
        }
        try PluginError.check(replaced, "response")
    }

    /// Replaces the response or failure by a failure of this plugin.
    ///
    /// - Parameters:
    ///   - message: The text for people, without secrets; at most 4 KiB.
    ///   - code: A stable identifier for programs, as in ``PluginError/code``; may be empty.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_ARGUMENT` when an argument is invalid or
    ///   too long, `OUTLET_E_STALE` after the hook.
    public func replace(failure message: String, code: String = "") throws(PluginError) {
        let table = current.host.table
        let replaced = withView(code) { code in
            withView(message) {
                table.pointee.response_replace_error(table, current.handle, code, $0)
            }
        }
        try PluginError.check(replaced, "failure")
    }
}

import COutletPlugin

/// The outcome of a request as a hook sees it; the values are read from the host when asked for.
///
/// Dead when the hook returns: then everything reads as empty.
public struct Response: Sendable {
    let host: Host
    package let handle: outlet_response

    package init(host: Host, handle: outlet_response) {
        self.host = host
        self.handle = handle
    }

    /// The status code; `nil` when no response arrived.
    public var status: Int? {
        var status: Int32 = 0
        let answer = host.table.pointee.response_status(host.table, handle, &status)
        return answer == OUTLET_OK ? Int(status) : nil
    }

    /// Why the request failed, as a stable word such as `timedOut` and a text; `nil` when it did
    /// not.
    public var failure: (code: String, message: String)? {
        var code = outlet_view()
        var message = outlet_view()
        guard host.table.pointee.response_error(host.table, handle, &code, &message) == OUTLET_OK
        else {
            return nil
        }
        return (code.string, message.string)
    }

    /// All header fields in order.
    public var headers: [(name: String, value: String)] {
        readFields { host.table.pointee.response_headers(host.table, handle, $0, $1, $2) }
    }

    /// The body in memory.
    public var body: [UInt8] {
        var value = outlet_view()
        guard host.table.pointee.response_body(host.table, handle, &value) == OUTLET_OK else {
            return []
        }
        return value.bytes
    }

    /// Reads a part of the body: of the file, for a download.
    ///
    /// Parameters and result as in ``Request/readBody(at:into:)``.
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

    /// The first value of a header; its name's case is ignored.
    public func header(_ name: String) -> String? {
        withView(name) { name in
            var value = outlet_view()
            guard
                host.table.pointee.response_header(host.table, handle, name, 0, &value)
                    == OUTLET_OK
            else { return nil }
            return value.string
        }
    }
}

/// An outcome that a hook may replace.
public struct MutableResponse: Sendable {
    /// What can be read of it, changes included.
    public let current: Response

    package init(_ response: Response) { current = response }

    /// Puts another response in place of this outcome, also of a failed one.
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

    /// Makes the outcome a failure of this plugin's.
    ///
    /// - Parameter code: A stable word for programs, as in ``PluginError/code``.
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

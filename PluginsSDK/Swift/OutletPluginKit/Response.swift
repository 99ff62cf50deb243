import COutletPlugin

/// The outcome of a request as a hook sees it; the values are read from the host when asked for.
///
/// Dead when the hook returns: then everything reads as empty.
public struct Response: Sendable {
    let host: Host
    let handle: outlet_response

    /// The status code; `nil` when no response arrived.
    public var status: Int? {
        let status = host.table.pointee.response_status(handle)
        return status > 0 ? Int(status) : nil
    }

    /// Why the request failed, as a stable word such as `timedOut` and a text; `nil` when it did
    /// not.
    public var failure: (code: String, message: String)? {
        var code = outlet_view()
        var message = outlet_view()
        guard host.table.pointee.response_error(handle, &code, &message) == OUTLET_OK else {
            return nil
        }
        return (code.string, message.string)
    }

    /// All header fields in order.
    public var headers: [(name: String, value: String)] {
        readFields { host.table.pointee.response_headers(handle, $0, $1, $2) }
    }

    /// The body in memory.
    public var body: [UInt8] {
        var value = outlet_view()
        guard host.table.pointee.response_body(handle, &value) == OUTLET_OK else { return [] }
        return value.bytes
    }

    /// The first value of a header; its name's case is ignored.
    public func header(_ name: String) -> String? {
        withView(name) { name in
            var value = outlet_view()
            guard host.table.pointee.response_header(handle, name, 0, &value) == OUTLET_OK else {
                return nil
            }
            return value.string
        }
    }
}

/// An outcome that a hook may replace.
public struct MutableResponse: Sendable {
    /// What can be read of it, changes included.
    public let current: Response

    init(_ response: Response) { current = response }

    /// Puts another response in place of this outcome, also of a failed one.
    public func replace(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) throws(PluginError) {
        let table = current.host.table.pointee
        let replaced = withFields(headers) { fields, count in
            withView(body) {
                table.response_replace(
                    current.handle, Int32(clamping: status), fields, count, $0)
            }
        }
        try PluginError.check(replaced, "response")
    }

    /// Makes the outcome a failure of this plugin's.
    public func replace(failure message: String) throws(PluginError) {
        let table = current.host.table.pointee
        try PluginError.check(
            withView(message) { table.response_replace_error(current.handle, $0) }, "failure")
    }
}

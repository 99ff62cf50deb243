import COutletPlugin
import FoundationEssentials
import OutletHTTP

/// The functions of the host with which a plugin changes a request or a response; the raw value is
/// the name.
enum RequestChange: String {
    case method = "request_set_method"
    case url = "request_set_url"
    case setHeader = "request_set_header"
    case addHeader = "request_add_header"
    case removeHeader = "request_remove_header"
    case attribute = "request_set_attr"
    case body = "request_set_body"
    case slot = "request_set_slot"
    case answer = "request_answer"
    case watch = "watch_response"
    case sendBody = "send_body"
    case replace = "response_replace"
    case replaceError = "response_replace_error"
}

/// What is wrong with an argument that was refused (`OUTLET_E_ARGUMENT`); computed after the
/// refusal, so that accepted calls cost no more.
extension RequestChange {
    static func fault(inMethod method: String) -> String {
        isToken(method) ? "only the transport sends CONNECT" : "the method is no token"
    }

    static func fault(inURL text: String) -> String {
        guard !text.utf8.contains(where: \.isControl) else {
            return "the URL has control characters"
        }
        guard let scheme = URL(escaping: text)?.scheme?.lowercasedASCII else {
            return "the URL is not absolute, or not valid"
        }
        return ["http", "https"].contains(scheme)
            ? "the URL has no valid host or port" : "the URL is neither http nor https"
    }

    static func fault(
        inField name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) -> String {
        if !isToken(name) { return "the name is not valid in HTTP" + end(of: name) }
        if !isFieldValue(value) { return "the value is not valid in HTTP" + end(of: value) }
        return isFramingName(name)
            ? "the transport sets this field"
            : "there are \(OUTLET_MAX_FIELDS) fields, the most that are allowed"
    }

    /// Says that bytes are of a view that has ended; empty if they are not.
    private static func end(of bytes: UnsafeBufferPointer<UInt8>) -> String {
        EndedViews.contain(bytes) ? ": \(EndedViews.fact)" : ""
    }

    static func fault(inAttribute key: String) -> String {
        key.isEmpty
            ? "the key is empty"
            : "a request has at most \(OUTLET_MAX_ATTRIBUTES) attributes of plugins, with "
                + "\(OUTLET_MAX_ATTRIBUTE_BYTES) bytes together"
    }

    static func fault(
        inAnswer status: Int32, _ fields: UnsafePointer<outlet_field>?, _ count: UInt64,
        _ body: outlet_view
    ) -> String {
        guard 200...599 ~= status else { return "the status is \(status), not 200 to 599" }
        if let refused = body.refusal(.body, "body") { return refused.fact }
        guard body.len == 0 || status != 204 && status != 304 else {
            return "it has a body, which the status \(status) must not have"
        }
        if let fault = fault(inFields: fields, count) { return fault }
        guard HTTPHeaders(fields, count) != nil else { return "its fields are not valid in HTTP" }
        return "it has a body, which an answer to HEAD must not have"
    }

    /// What is wrong with the fields of a message; `nil` if nothing is.
    static func fault(inFields fields: UnsafePointer<outlet_field>?, _ count: UInt64) -> String? {
        let limit = Int(OUTLET_MAX_FIELDS)
        guard count <= UInt64(limit) else {
            return RefusedText.tooMany(name: "list of fields", count: count, limit: limit).fact
        }
        guard count == 0 || fields != nil else {
            return RefusedText.null(name: "list of fields").fact
        }
        for (index, field) in UnsafeBufferPointer(start: fields, count: Int(count)).enumerated() {
            let (name, value) = (field.name.foreign(.name), field.value.foreign(.value))
            guard let name, isToken(name) else {
                return "the name of its field \(index + 1) is not valid in HTTP, or too long"
                    + (name.map(end) ?? "")
            }
            guard let value, isFieldValue(value) else {
                let shown = String(decoding: Array(name.prefix(64)), as: UTF8.self)
                return "the value of its field \(index + 1), '\(shown)', is not valid in HTTP, or "
                    + "too long" + (value.map(end) ?? "")
            }
        }
        return nil
    }
}

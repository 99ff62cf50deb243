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
    case answer = "request_answer"
    case replace = "response_replace"
    case replaceError = "response_replace_error"

    /// What can be wrong with the arguments (`OUTLET_E_ARGUMENT`).
    var mistakes: String {
        switch self {
        case .method: "the method is CONNECT, or no token"
        case .url: "the URL is neither http nor https, or has no valid host"
        case .setHeader, .addHeader:
            "the name or the value is not valid in HTTP or too long, the transport sets this field, "
                + "or there are too many fields"
        case .removeHeader: "the name is too long"
        case .attribute: "the key or the value is too long"
        case .body: "the body is too long"
        case .replaceError: "the reason cannot be read"
        case .answer, .replace:
            "the status is not 200 to 599, or one without a body, or a field is not valid"
        }
    }
}

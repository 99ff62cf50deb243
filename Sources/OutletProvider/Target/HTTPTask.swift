public import FoundationEssentials

/// What a target sends, and how.
public enum HTTPTask: Sendable {
    /// Nothing.
    case requestPlain
    /// Those bytes; the content type is the target's affair.
    case requestData(Data)
    /// A value as JSON.
    case requestJSONEncodable(any Encodable & Sendable)
    /// A value as JSON, with an encoder of the target's own.
    case requestCustomJSONEncodable(any Encodable & Sendable, encoder: JSONEncoder)
}

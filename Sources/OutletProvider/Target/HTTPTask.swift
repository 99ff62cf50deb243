public import FoundationEssentials
public import OutletSession

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
    /// Parameters, where and how the encoding says.
    case requestParameters(parameters: Parameters, encoding: any ParameterEncoding)
    /// Those bytes, and parameters in the address.
    case requestCompositeData(bodyData: Data, urlParameters: Parameters)
    /// Parameters in the body, and parameters in the address.
    ///
    /// A `URLEncoding` for the body must have the destination `httpBody`.
    case requestCompositeParameters(
        bodyParameters: Parameters, bodyEncoding: any ParameterEncoding, urlParameters: Parameters)
}

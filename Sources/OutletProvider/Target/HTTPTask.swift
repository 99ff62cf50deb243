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
    /// A file's bytes.
    case uploadFile(URL)
    /// A form of several parts.
    ///
    /// For POST, PUT, PATCH and CONNECT; the form sets the `Content-Type`.
    case uploadMultipartFormData(MultipartFormData)
    /// A form of several parts, and parameters in the address.
    case uploadCompositeMultipartFormData(MultipartFormData, urlParameters: Parameters)
    /// Nothing; what comes goes into a file.
    case downloadDestination(DownloadDestination)
    /// Parameters, where and how the encoding says; what comes goes into a file.
    case downloadParameters(
        parameters: Parameters, encoding: any ParameterEncoding, destination: DownloadDestination)
}

/// Says where a downloaded file goes, once its response is there.
public typealias DownloadDestination = DownloadRequest.Destination

extension HTTPTask {
    /// A form of those parts.
    public static func uploadMultipart(_ parts: [MultipartFormBodyPart]) -> HTTPTask {
        .uploadMultipartFormData(MultipartFormData(parts: parts))
    }

    /// A form of those parts, and parameters in the address.
    public static func uploadCompositeMultipart(
        _ parts: [MultipartFormBodyPart], urlParameters: Parameters
    ) -> HTTPTask {
        .uploadCompositeMultipartFormData(
            MultipartFormData(parts: parts), urlParameters: urlParameters)
    }

    /// The form, if one is sent.
    var form: MultipartFormData? {
        switch self {
        case .uploadMultipartFormData(let form), .uploadCompositeMultipartFormData(let form, _):
            form
        default: nil
        }
    }

    /// Whether what comes goes into a file, which others who ask for the same do not get.
    var isDownload: Bool {
        switch self {
        case .downloadDestination, .downloadParameters: true
        default: false
        }
    }
}

public import FoundationEssentials
public import OutletSession

/// The kind of a target's request: its body and parameters, and whether it is a download.
///
/// Indirect, because each call copies its task several times.
public indirect enum HTTPTask: Sendable {
    /// A request without a body.
    case requestPlain
    /// A body of bytes; sets no `Content-Type`.
    case requestData(Data)
    /// A JSON body; sets `Content-Type: application/json` if the target has none.
    case requestJSONEncodable(any Encodable & Sendable)
    /// A JSON body, made by a given encoder; sets `Content-Type: application/json` if the target
    /// has none.
    case requestCustomJSONEncodable(any Encodable & Sendable, encoder: JSONEncoder)
    /// Parameters, which the encoding puts into the query or the body.
    case requestParameters(parameters: Parameters, encoding: any ParameterEncoding)
    /// A body of bytes, and parameters in the query.
    case requestCompositeData(bodyData: Data, urlParameters: Parameters)
    /// Parameters in the body, and parameters in the query.
    ///
    /// A `URLEncoding` for the body must have the destination `httpBody`; with another one
    /// ``Endpoint/urlRequest()`` throws ``BodyEncodingNotForBody`` inside
    /// ``ProviderError/parameterEncoding(_:)``.
    case requestCompositeParameters(
        bodyParameters: Parameters, bodyEncoding: any ParameterEncoding, urlParameters: Parameters)
    /// The contents of a file as body.
    case uploadFile(URL)
    /// A multipart form as body.
    ///
    /// For POST, PUT, PATCH and CONNECT; the form sets the `Content-Type`.
    case uploadMultipartFormData(MultipartFormData)
    /// A multipart form as body, and parameters in the query.
    case uploadCompositeMultipartFormData(MultipartFormData, urlParameters: Parameters)
    /// A request without a body, whose response is written to a file.
    case downloadDestination(DownloadDestination)
    /// Parameters, which the encoding puts into the query or the body; the response is written to a
    /// file.
    case downloadParameters(
        parameters: Parameters, encoding: any ParameterEncoding, destination: DownloadDestination)
}

/// Returns where a downloaded file is moved, when its body is complete.
public typealias DownloadDestination = DownloadRequest.Destination

extension HTTPTask {
    /// Returns a task whose body is a multipart form with a random boundary.
    ///
    /// - Parameter parts: The parts, in their order; a request with none fails with
    ///   ``ProviderError/parameterEncoding(_:)``.
    public static func uploadMultipart(_ parts: [MultipartFormBodyPart]) -> HTTPTask {
        .uploadMultipartFormData(MultipartFormData(parts: parts))
    }

    /// Returns a task whose body is a multipart form with a random boundary, with query parameters.
    ///
    /// - Parameters:
    ///   - parts: The parts, in their order; a request with none fails with
    ///     ``ProviderError/parameterEncoding(_:)``.
    ///   - urlParameters: Appended to the query.
    public static func uploadCompositeMultipart(
        _ parts: [MultipartFormBodyPart], urlParameters: Parameters
    ) -> HTTPTask {
        .uploadCompositeMultipartFormData(
            MultipartFormData(parts: parts), urlParameters: urlParameters)
    }

    /// The multipart form; `nil` for other tasks.
    var form: MultipartFormData? {
        switch self {
        case .uploadMultipartFormData(let form), .uploadCompositeMultipartFormData(let form, _):
            form
        default: nil
        }
    }

    /// Whether the response is written to a file, which equal requests cannot share.
    var isDownload: Bool {
        switch self {
        case .downloadDestination, .downloadParameters: true
        default: false
        }
    }
}

extension HTTPTask: CustomReflectable {
    /// Only the case, because `dump` and `print` would show parameters and bodies, which may be
    /// secrets.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .enum) }
}

import OutletHTTP
import OutletTransport

/// A request and the form that is its body.
///
/// What was encoded in memory is kept for further attempts; a form that is sent as a stream is
/// read anew.
final class MultipartUpload: UploadConvertible {
    private let request: any URLRequestConvertible
    private let form: MultipartFormData
    private let threshold: UInt64
    private let encoded = Lock<UploadRequest.Uploadable?>(nil)

    init(request: any URLRequestConvertible, form: MultipartFormData, threshold: UInt64) {
        self.request = request
        self.form = form
        self.threshold = threshold
    }

    func asURLRequest() throws -> HTTPRequest {
        var request = try request.asURLRequest()
        // Last, because no other type names the boundary.
        request.headers.update(.contentType(form.contentType))
        return request
    }

    func createUploadable() throws -> UploadRequest.Uploadable {
        if let encoded = encoded.withLock({ $0 }) { return encoded }
        switch try form.uploadable(usingThreshold: threshold) {
        case .data(let data):
            encoded.withLock { $0 = .data(data) }
            return .data(data)
        case let uploadable: return uploadable
        }
    }
}

extension MultipartFormData {
    /// The body, in memory while its parts are smaller than that many bytes, else as a stream.
    ///
    /// - Throws: As ``encode()``.
    public func uploadable(
        usingThreshold threshold: UInt64 = MultipartFormData.encodingMemoryThreshold
    ) throws -> UploadRequest.Uploadable {
        let stream = try bodyStream()
        guard stream.length != nil, contentLength < threshold else { return .stream(stream) }
        return .data(try encode())
    }
}

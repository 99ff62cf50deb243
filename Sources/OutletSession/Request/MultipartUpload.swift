import OutletHTTP
import OutletTransport

/// A request and a form as its body.
///
/// A form encoded in memory is kept for further attempts; a form sent as a stream is read again.
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
        // Overwrites `Content-Type`, which has to contain the boundary.
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
    /// Returns the body: in memory if it is small, else as a stream.
    ///
    /// - Parameter threshold: The limit in bytes, compared to ``contentLength``: forms from this
    ///   size on, and forms with a part of unknown length, are streamed.
    /// - Throws: As ``encode()``.
    ///
    /// Thread: any; blocks while files and streams are read into memory.
    public func uploadable(
        usingThreshold threshold: UInt64 = MultipartFormData.encodingMemoryThreshold
    ) throws -> UploadRequest.Uploadable {
        let stream = try bodyStream()
        guard stream.length != nil, contentLength < threshold else { return .stream(stream) }
        return .data(try encode())
    }
}

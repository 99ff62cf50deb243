import FoundationEssentials
import OutletHTTP
import OutletSession

/// Sending through the session.
extension ProviderCall {
    /// Returns the progress of a request at its end; `nil` if the caller wants no progress.
    private typealias LastProgress = @Sendable () -> TransferProgress

    /// Sends a request through the session; the plugins prepare it before each attempt.
    func send(_ request: HTTPRequest, _ task: HTTPTask) {
        var described = request
        described.context.targetValue = target
        let interceptor = plugins.isEmpty ? nil : self
        switch task {
        case .uploadFile(let file):
            run(session.upload(file, with: described, interceptor: interceptor))
        case .uploadMultipartFormData(let form), .uploadCompositeMultipartFormData(let form, _):
            do throws(ProviderError) {
                let form = try form.form(for: request.method)
                run(
                    session.upload(
                        multipartFormData: form, with: described, interceptor: interceptor))
            } catch {
                fail(error)
            }
        case .downloadDestination(let destination), .downloadParameters(_, _, let destination):
            run(session.download(described, interceptor: interceptor, to: destination))
        default:
            let request = session.request(described, interceptor: interceptor)
            if sharesTransfer { request.coalesces() }
            var last: LastProgress?
            if let progress {
                request.downloadProgress(queue: queue) { progress(ProgressResponse(progress: $0)) }
                last = { request.downloadProgress }
            }
            run(request, last)
        }
    }

    private func run(_ request: UploadRequest) {
        var last: LastProgress?
        if let progress {
            request.uploadProgress(queue: queue) { progress(ProgressResponse(progress: $0)) }
            last = { request.uploadProgress }
        }
        run(request, last)
    }

    private func run(_ request: DataRequest, _ last: LastProgress?) {
        token.cancels(request)
        let codes = target.validationType.statusCodes
        if !codes.isEmpty { request.validate(statusCode: codes) }
        request.response(queue: queue) { response in
            self.end(
                convertResponseToResult(
                    response.response, request: response.request, data: response.data,
                    error: response.error, metrics: response.metrics), last)
        }
        // Whether or not the session starts requests by itself, a provider's call starts.
        request.resume()
    }

    private func run(_ request: DownloadRequest) {
        token.cancels(request)
        let codes = target.validationType.statusCodes
        if !codes.isEmpty { request.validate(statusCode: codes) }
        var last: LastProgress?
        if let progress {
            request.downloadProgress(queue: queue) { progress(ProgressResponse(progress: $0)) }
            last = { request.downloadProgress }
        }
        request.response(queue: queue) { [last] response in
            self.end(
                convertResponseToResult(
                    response.response, request: response.request, data: nil,
                    error: response.error, metrics: response.metrics, fileURL: response.fileURL),
                last)
        }
        // Whether or not the session starts requests by itself, a provider's call starts.
        request.resume()
    }

    private func end(_ result: Result<Response, ProviderError>, _ last: LastProgress?) {
        finish(result) { result in
            progress?(ProgressResponse(progress: last?(), response: try? result.get()))
        }
    }
}

import FoundationEssentials
import OutletHTTP
import OutletSession

/// Sending through the session.
extension ProviderCall {
    /// Sends a request through the session; the plugins prepare it before each attempt.
    ///
    /// Whether or not the session starts requests by itself, a provider's call starts.
    func send(_ request: HTTPRequest, of endpoint: Endpoint) {
        var described = request
        let interceptor = plugins.isEmpty ? nil : self
        // Not for requests that nothing reads it from: a context costs a third of the provider
        // (`Benchmarks/count provider`).
        if interceptor != nil || session.showsRequests { described.context.heldTarget = held }
        switch endpoint.task {
        case .uploadFile(let file):
            run(
                session.upload(
                    file, with: described, interceptor: interceptor, shouldAutomaticallyResume: true
                ))
        case .uploadMultipartFormData(let form), .uploadCompositeMultipartFormData(let form, _):
            do throws(ProviderError) {
                let form = try form.form(for: request.method)
                run(
                    session.upload(
                        multipartFormData: form, with: described, interceptor: interceptor,
                        shouldAutomaticallyResume: true))
            } catch {
                fail(error)
            }
        case .downloadDestination(let destination), .downloadParameters(_, _, let destination):
            run(
                session.download(
                    described, interceptor: interceptor, shouldAutomaticallyResume: true,
                    to: destination))
        default:
            let request = session.request(
                described, interceptor: interceptor, shouldAutomaticallyResume: true)
            if sharesTransfer { request.coalesces() }
            if let progress {
                request.downloadProgress(queue: queue) { progress(ProgressResponse(progress: $0)) }
            }
            run(request)
        }
    }

    private func run(_ request: UploadRequest) {
        if let progress {
            request.uploadProgress(queue: queue) { progress(ProgressResponse(progress: $0)) }
        }
        run(request as DataRequest)
    }

    private func run(_ request: DataRequest) {
        token.cancels(request)
        let codes = held.target.validationType.statusCodes
        if !codes.isEmpty { request.validate(statusCode: codes) }
        request.outcome(queue: queue) { outcome in
            self.end(result(of: outcome, error: outcome.error))
        }
    }

    private func run(_ request: DownloadRequest) {
        token.cancels(request)
        let codes = held.target.validationType.statusCodes
        if !codes.isEmpty { request.validate(statusCode: codes) }
        if let progress {
            request.downloadProgress(queue: queue) { progress(ProgressResponse(progress: $0)) }
        }
        request.response(queue: queue) { response in
            self.end(
                convertResponseToResult(
                    response.response, request: response.request, data: nil,
                    error: response.error, metrics: response.metrics, fileURL: response.fileURL))
        }
    }

    private func end(_ result: Result<Response, ProviderError>) {
        finish(result) { result in
            progress?(ProgressResponse(progress: token.progress, response: try? result.get()))
        }
    }
}

import Dispatch
import FoundationEssentials
import Outlet
import OutletFiles
import OutletTestSupport
import Synchronization

/// The kinds of requests with which each fault is tested.
enum RequestKind: String, CaseIterable, Sendable {
    case data, upload, download, stream

    /// The outcome of a request: its error, status code and received body.
    struct Outcome: Sendable {
        let error: SessionError?
        let statusCode: Int?
        let bytes: [UInt8]

        /// The transfer's error.
        var transfer: TransferError? { error?.transferError }
        /// The body as text.
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// Creates a request of the kind; each download has its own file in the temporary directory.
    ///
    /// - Parameter body: Sent with `POST`; uploads send one byte without it.
    func request(
        _ url: String, by session: Session, body: Data? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        change: @escaping @Sendable (inout HTTPRequest) -> Void = { _ in }
    ) -> Request {
        let method: HTTPMethod = body == nil ? .get : .post
        let modifier: Session.RequestModifier = { request in
            if let body { request.body = .data(body) }
            change(&request)
        }
        switch self {
        case .data:
            return session.request(
                url, method: method, interceptor: interceptor, requestModifier: modifier)
        case .upload:
            return session.upload(
                body ?? Data([1]), to: url, interceptor: interceptor, requestModifier: change)
        case .download:
            return session.download(
                url, method: method, interceptor: interceptor, requestModifier: modifier)
        case .stream:
            return session.streamRequest(
                url, method: method, interceptor: interceptor, requestModifier: modifier)
        }
    }

    /// Adds a handler, which starts the request, and calls `completion` with the outcome.
    static func handle(_ request: Request, _ completion: @escaping @Sendable (Outcome) -> Void) {
        switch request {
        case let request as DataRequest:
            request.response {
                completion(
                    Outcome(
                        error: $0.error, statusCode: $0.response?.statusCode,
                        bytes: $0.data.map(Array.init) ?? []))
            }
        case let request as DownloadRequest:
            request.response {
                let data = $0.fileURL.flatMap { try? Data(contentOf: $0) }
                $0.removeFiles()
                completion(
                    Outcome(
                        error: $0.error, statusCode: $0.response?.statusCode,
                        bytes: data.map(Array.init) ?? []))
            }
        case let request as DataStreamRequest:
            let pieces = Recorder<Data>()
            request.responseStream { event in
                if let value = event.value { pieces.record(value) }
                guard let end = event.completion else { return }
                completion(
                    Outcome(
                        error: end.error, statusCode: end.response?.statusCode,
                        bytes: pieces.values.flatMap { $0 }))
            }
        default: break
        }
    }

    /// Performs a request of the kind; its completion must be called once.
    func outcome(_ url: String, by session: Session, body: Data? = nil) async throws -> Outcome {
        try await Self.outcome(of: request(url, by: session, body: body), by: session)
    }

    /// Performs a request; its completion must be called once.
    static func outcome(of request: Request, by session: Session) async throws -> Outcome {
        let ended = ExactlyOnce<Outcome>()
        handle(request, ended.completion())
        let outcome = try await ended.values()[0]
        withExtendedLifetime(session) {}
        if let fault = ended.fault { throw TestSupportError("completions: \(fault)") }
        return outcome
    }
}

extension Session {
    /// A session that is independent of the environment.
    static func isolated(
        startRequestsImmediately: Bool = true, interceptor: (any RequestInterceptor)? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        // The tests share the machine's cores: a waiting request must not time out by itself.
        configuration.connectTimeout = 300
        change(&configuration)
        return Session(
            configuration: configuration, startRequestsImmediately: startRequestsImmediately,
            interceptor: interceptor)
    }
}

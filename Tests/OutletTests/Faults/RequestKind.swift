import Dispatch
import FoundationEssentials
import Outlet
import OutletFiles
import OutletTestSupport
import Synchronization

/// The kinds of requests that every fault is tried with.
enum RequestKind: String, CaseIterable, Sendable {
    case data, upload, download, stream

    /// How a request ended: its error, and what came of the body.
    struct Outcome: Sendable {
        let error: SessionError?
        let statusCode: Int?
        let bytes: [UInt8]

        /// The transfer's error.
        var transfer: TransferError? { error?.transferError }
        /// The body as text.
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// Makes a request of the kind; downloads go to a file of their own in the temporary directory.
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

    /// Adds a handler, which starts the request, and tells how it ended.
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

    /// Carries a request of the kind to its end, which must come once.
    func outcome(_ url: String, by session: Session, body: Data? = nil) async throws -> Outcome {
        try await Self.outcome(of: request(url, by: session, body: body), by: session)
    }

    /// Carries a request to its end, which must come once.
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
        // The tests share the machine's cores: what waits for a test is not to end by itself.
        configuration.connectTimeout = 300
        change(&configuration)
        return Session(
            configuration: configuration, startRequestsImmediately: startRequestsImmediately,
            interceptor: interceptor)
    }
}

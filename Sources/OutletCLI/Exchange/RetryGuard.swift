import FoundationEssentials
import Outlet
import OutletTransport

/// Refuses the retries that plugins ask for after a part of the response was passed on, or if the
/// body cannot be sent again.
///
/// Output to a terminal or a pipe cannot be undone, and a pipe as stdin cannot be read twice. The
/// plugins are asked nevertheless: without their wish for a retry, nothing is refused, and the result
/// of the attempt is that of the request.
///
/// Thread: any.
final class RetryGuard: Sendable {
    /// Why a retry was refused.
    enum Refusal: Sendable {
        /// A part of the response was passed on.
        case responseBegun
        /// The body was read from stdin, which cannot be read again.
        case inputSpent
    }

    private struct State {
        /// The id of the request whose retries are guarded: plugins may send requests of their own.
        var request: UUID?
        /// The body if it is read from stdin while it is sent.
        var input: StandardInputBody?
        var hasPrinted = false
        var refusal: Refusal?
    }
    private let state = Lock(State())

    /// Begins with a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - input: Its body if that is read from stdin while it is sent; else `nil`.
    func begin(_ request: Request, input: StandardInputBody?) {
        state.withLock { $0 = State(request: request.id, input: input) }
    }

    /// Records that a part of the response was passed on.
    func didPrint() { state.withLock { $0.hasPrinted = true } }

    /// Why the last retry that a plugin asked for was refused; `nil` if none was.
    var refusal: Refusal? { state.withLock { $0.refusal } }

    /// Returns whether a request may be sent again, and records the refusal.
    fileprivate func permits(_ request: Request) -> Bool {
        state.withLock { state in
            guard state.request == request.id else { return true }
            if state.hasPrinted {
                state.refusal = .responseBegun
            } else if state.input?.canRewind == false {
                state.refusal = .inputSpent
            }
            return state.refusal == nil
        }
    }
}

/// The plugins of a host whose retries a ``RetryGuard`` may refuse.
struct GuardedPlugins: SessionPlugins {
    private let host: PluginHost
    private let retries: RetryGuard

    init(_ host: PluginHost, _ retries: RetryGuard) {
        self.host = host
        self.retries = retries
    }

    var interceptors: [any RequestInterceptor] {
        host.interceptors.map { interceptor in
            // The elements of a list stay apart, because each has its own time limit.
            let list = interceptor as? Interceptor
            return Interceptor(
                adapters: list?.adapters ?? [interceptor],
                retriers: (list?.retriers ?? [interceptor]).map {
                    GuardedRetrier(retrier: $0, retries: retries)
                })
        }
    }

    var layers: [@Sendable (_ next: any Transport) -> any Transport] { host.layers }
    var redirectDeciders: [any RedirectDecider] { host.redirectDeciders }
    var middleware: [any Middleware] { host.middleware }
    var eventMonitors: [any EventMonitor] { host.eventMonitors }

    func trustDecider(
        behind manager: (any ServerTrustDeciding)?, verifies: Bool
    ) -> (any ServerTrustDeciding)? { host.trustDecider(behind: manager, verifies: verifies) }

    func attach(to session: Session) { host.attach(to: session) }
}

/// Asks a plugin, and answers that there is no retry if the guard refuses one.
private struct GuardedRetrier: AbandonableRetrier {
    let retrier: any RequestRetrier
    let retries: RetryGuard

    var answerTimeout: TimeInterval? { retrier.answerTimeout }

    func beginRetrying(
        _ request: Request, for session: Session, dueTo error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> (@Sendable () -> Void)? {
        let answer: @Sendable (RetryResult) -> Void = { [retries] result in
            let isRefused = result.retryRequired && !retries.permits(request)
            completion(isRefused ? .doNotRetry : result)
        }
        guard let patient = retrier as? any AbandonableRetrier else {
            retrier.retry(request, for: session, dueTo: error, completion: answer)
            return nil
        }
        return patient.beginRetrying(request, for: session, dueTo: error, answer)
    }
}

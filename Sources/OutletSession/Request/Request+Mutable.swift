import FoundationEssentials
import OutletHTTP
import OutletTransport

extension Request {
    /// The mutable state of a request, protected by its lock.
    struct Mutable: ~Copyable, Sendable {
        var machine = RequestMachine()
        /// The requests and transfers of all attempts.
        var history = AttemptHistory()
        /// The identifier of the transfer that was cancelled or closed.
        var endingTask: UInt64?
        /// The state of the current attempt.
        var attempt = Attempt()
        /// The response handlers.
        var handlers = HandlerQueue()
        var dataValidators = InlineFirst<DataRequest.Validator>()
        /// Other observers; most requests have none.
        var observers: RequestObservers?
        /// The request's own interceptor; boxed, because copying and destroying an optional
        /// existential goes through its value witness table.
        var interceptor: Boxed<any RequestInterceptor>?
        /// Rarely used settings and state; most requests have none.
        var overrides: RequestOverrides?
    }
}

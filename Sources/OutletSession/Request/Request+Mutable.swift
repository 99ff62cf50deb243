import FoundationEssentials
import OutletHTTP
import OutletTransport

extension Request {
    /// Everything that changes.
    struct Mutable: ~Copyable, Sendable {
        var machine = RequestMachine()
        /// The requests and transfers of all attempts.
        var history = AttemptHistory()
        /// The transfer that was told to end, be it at once or in order.
        var endingTask: UInt64?
        /// What the attempt under way has come to.
        var attempt = Attempt()
        /// Who wants the response.
        var handlers = HandlerQueue()
        var dataValidators = InlineFirst<DataRequest.Validator>()
        /// Who else watches; most requests have nobody.
        var observers: RequestObservers?
        /// The request's own; boxed, because an empty place for one is copied and cleared by way of its
        /// type's table.
        var interceptor: Boxed<any RequestInterceptor>?
        /// What this request has of its own besides; most have nothing.
        var specials: RequestOverrides?
    }
}

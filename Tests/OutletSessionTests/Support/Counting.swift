import OutletHTTP
import OutletSession
import Synchronization

/// Counts its calls, and retries until the retrier has been called `limit` times.
final class Counting: RequestInterceptor {
    let adapted = Atomic(0)
    let retried = Atomic(0)
    let limit: Int
    let result: RetryResult

    /// The numbers of the calls of `adapt` that fail; the first is 1.
    let refusals: Set<Int>

    init(until limit: Int = 2, result: RetryResult = .retry, refusing refusals: Set<Int> = []) {
        self.refusals = refusals
        self.limit = limit
        self.result = result
    }

    struct Refusal: Error, Equatable {
        let call: Int
    }

    /// The number of calls of `adapt`, and of `retry`.
    var calls: [Int] { [adapted.load(ordering: .relaxed), retried.load(ordering: .relaxed)] }

    func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        let count = adapted.add(1, ordering: .relaxed).newValue
        completion(refusals.contains(count) ? .failure(Refusal(call: count)) : .success(request))
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        let count = retried.add(1, ordering: .relaxed).newValue
        completion(count < limit ? result : .doNotRetry)
    }
}

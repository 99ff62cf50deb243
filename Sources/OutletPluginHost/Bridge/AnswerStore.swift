import COutletPlugin
import OutletHTTP
import OutletSession
import OutletTransport

/// Answers that plugins gave in place of the network, on their way to ``AnsweringTransport``.
///
/// A request carries the number of its answer as an attribute, which survives the adapters that
/// come after and is never sent.
final class AnswerStore: Sendable {
    static let attribute = "outlet.answer"

    /// How long an answer is kept for a request that may have been cancelled meanwhile, in
    /// nanoseconds; adapters have far less time to send it on.
    static let lifetime: UInt64 = 600 * 1_000_000_000

    private struct Kept {
        let answer: RequestHandle.Answer
        let time: UInt64
    }

    private struct State {
        var answers: [UInt64: Kept] = [:]
        var oldest: UInt64 = 1
        var last: UInt64 = 0
        var isServed = false
    }

    private let state = Lock(State())

    /// Whether there is a transport that plays the answers.
    var isServed: Bool { state.withLock { $0.isServed } }

    /// There is such a transport now.
    func serve() { state.withLock { $0.isServed = true } }

    /// Notes an answer in its request.
    func attach(_ answer: RequestHandle.Answer?, to request: HTTPRequest) -> HTTPRequest {
        guard let answer else { return request }
        let now = Stopwatch.now
        let number = state.withLock { state in
            state.last += 1
            state.answers[state.last] = Kept(answer: answer, time: now)
            while state.oldest < state.last {
                if let kept = state.answers[state.oldest] {
                    guard now - kept.time > AnswerStore.lifetime else { break }
                    state.answers[state.oldest] = nil
                }
                state.oldest += 1
            }
            return state.last
        }
        var request = request
        if let older = request.attributes[AnswerStore.attribute] { _ = take(older) }
        request.attributes[AnswerStore.attribute] = "\(number)"
        return request
    }

    /// The answer of a request, once.
    func take(_ number: String) -> RequestHandle.Answer? {
        guard let number = UInt64(number) else { return nil }
        return state.withLock { $0.answers.removeValue(forKey: number)?.answer }
    }
}

import Dispatch
import Glibc
import OutletSession
import OutletTestSupport
import OutletTransport

/// Threads that run closures after a random delay.
///
/// Half of the work goes to threads of its own and half to Dispatch, because they meet the locks of
/// what is tested in different ways.
final class Workers: Sendable {
    private let work = Lock<[@Sendable () -> Void]>([])
    private let news = DispatchSemaphore(value: 0)
    private let gone = DispatchGroup()
    private let hands: Int

    init(hands: Int) throws {
        self.hands = hands
        for _ in 0..<hands {
            gone.enter()
            try onOwnThread { [self] in
                while let next = take() {
                    usleep(.random(in: 0..<1500))
                    next()
                }
                gone.leave()
            }
        }
    }

    /// Does something a little later: up to 5 ms, more when there is much to do.
    func later(_ body: @escaping @Sendable () -> Void) {
        if Bool.random() {
            DispatchQueue.global().asyncAfter(
                deadline: .now() + .microseconds(.random(in: 0..<5000)), execute: body)
        } else {
            work.withLock { $0.append(body) }
            news.signal()
        }
    }

    /// Lets the threads finish what they were told, and waits for them.
    func dismiss() {
        for _ in 0..<hands { news.signal() }
        gone.wait()
    }

    /// The next thing to do; `nil` when the workers are dismissed.
    private func take() -> (@Sendable () -> Void)? {
        news.wait()
        return work.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}

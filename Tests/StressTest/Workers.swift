import Dispatch
import Glibc
import OutletSession
import OutletTestSupport
import OutletTransport

/// Runs closures on other threads after a random delay.
///
/// Half of the closures run on threads made here and half on Dispatch's, because the two contend
/// for the library's locks in different ways.
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

    /// Runs a closure up to 5 ms later, or after the closures submitted before it.
    func later(_ body: @escaping @Sendable () -> Void) {
        if Bool.random() {
            DispatchQueue.global().asyncAfter(
                deadline: .now() + .microseconds(.random(in: 0..<5000)), execute: body)
        } else {
            work.withLock { $0.append(body) }
            news.signal()
        }
    }

    /// Waits until the threads made here have run their closures and ended.
    ///
    /// Does not wait for closures on Dispatch's threads.
    func dismiss() {
        for _ in 0..<hands { news.signal() }
        gone.wait()
    }

    /// Waits for the next closure and returns it; `nil` after ``dismiss()`` once none is left.
    private func take() -> (@Sendable () -> Void)? {
        news.wait()
        return work.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}

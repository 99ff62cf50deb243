import Dispatch
import OutletTransport

/// Bounds retries to a share of all requests, so that they do not finish off a service that is
/// failing already.
///
/// Each request adds ``ratio`` to the balance, each retry takes 1 from it. A little is added
/// with time, for clients with few requests. Share one budget among the policies of a service.
///
/// Thread: any.
public final class RetryBudget: Sendable {
    /// What a request adds: 0.2 allows one retry for every five requests.
    public let ratio: Double
    /// What a second adds, whether or not there are requests.
    public let retriesPerSecond: Double
    /// The most that is saved up, and what there is at first.
    public let capacity: Double

    private struct Balance {
        var amount: Double
        var time: UInt64
    }
    private let balance: Lock<Balance>

    /// Makes a budget.
    public init(ratio: Double = 0.2, retriesPerSecond: Double = 1, capacity: Double = 10) {
        self.ratio = max(0, ratio)
        self.retriesPerSecond = max(0, retriesPerSecond)
        self.capacity = max(0, capacity)
        balance = Lock(Balance(amount: max(0, capacity), time: Self.now()))
    }

    /// Counts a request's first attempt.
    public func deposit() {
        deposit(now: Self.now())
    }

    /// Takes one retry out.
    ///
    /// - Returns: Whether there was one.
    public func withdraw() -> Bool {
        withdraw(now: Self.now())
    }

    func deposit(now: UInt64) {
        balance.withLock { balance in
            refill(&balance, now: now)
            balance.amount = min(capacity, balance.amount + ratio)
        }
    }

    func withdraw(now: UInt64) -> Bool {
        balance.withLock { balance in
            refill(&balance, now: now)
            guard balance.amount >= 1 else { return false }
            balance.amount -= 1
            return true
        }
    }

    private func refill(_ balance: inout Balance, now: UInt64) {
        guard now > balance.time else { return }
        let seconds = Double(now - balance.time) / 1_000_000_000
        balance.amount = min(capacity, balance.amount + seconds * retriesPerSecond)
        balance.time = now
    }

    private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }
}

import Dispatch
import OutletTransport

/// Limits retries to a share of all requests, so that they do not overload a failing service.
///
/// Each request adds ``ratio`` to the balance, each retry subtracts 1. Each second adds
/// ``retriesPerSecond``, for clients with few requests. Share one budget among the policies of a
/// service.
///
/// Thread: any.
public final class RetryBudget: Sendable {
    /// The amount that a request adds: 0.2 allows one retry for every five requests.
    public let ratio: Double
    /// The amount that each second adds, whether or not there are requests.
    public let retriesPerSecond: Double
    /// The maximum balance, and the balance at the start.
    public let capacity: Double

    private struct Balance {
        var amount: Double
        var time: UInt64
    }
    private let balance: Lock<Balance>

    /// Makes a budget; negative values count as 0.
    ///
    /// - Parameters:
    ///   - ratio: The amount that a request adds.
    ///   - retriesPerSecond: The amount that each second adds.
    ///   - capacity: The maximum balance, and the balance at the start.
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

    /// Subtracts a retry from the balance.
    ///
    /// - Returns: `false` if the balance is below 1; it is then unchanged.
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

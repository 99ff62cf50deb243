import OutletTestSupport
import Testing

@testable import OutletSession

private struct Failure: Error {}

@Suite struct AuthenticationMachineTests {
    private typealias Machine = AuthenticationMachine<Int, String, String>

    private func machine(_ credential: Int? = 1, attempts: Int? = nil) -> Machine {
        Machine(
            credential: credential,
            limit: attempts.map { Machine.Limit(interval: 30, attempts: $0) })
    }

    private func refresh(_ action: Machine.AdaptAction) -> Machine.Refresh? {
        guard case .wait(let refresh) = action else { return nil }
        return refresh
    }

    private func refresh(_ action: Machine.RetryAction) -> Machine.Refresh? {
        guard case .wait(let refresh) = action else { return nil }
        return refresh
    }

    @Test func `the first refused request begins the refresh, and all others wait for it`() throws {
        var machine = machine()
        let first = refresh(machine.retry("a", seen: 0, now: 0))
        let second = machine.retry("b", seen: 0, now: 0)
        let begun = try #require(first)
        #expect(refresh(second) == nil)
        let settled = machine.didRefresh(id: begun.id, result: .success(2))
        let settlement = try #require(settled)
        #expect(settlement.retries == ["a", "b"])
        #expect(settlement.error == nil)
        #expect(machine.credential == 2)
    }

    @Test func `a new request waits for a proactive refresh, not for one after a refusal`() {
        var refused = machine()
        _ = refused.retry("a", seen: 0, now: 0)
        guard case .apply(1) = refused.adapt("b", seen: 0, requiresRefresh: true, now: 0) else {
            Issue.record("not applied")
            return
        }
        var ended = machine()
        _ = ended.adapt("a", seen: 0, requiresRefresh: true, now: 0)
        guard case .wait(nil) = ended.adapt("b", seen: 0, requiresRefresh: false, now: 0) else {
            Issue.record("not waiting")
            return
        }
    }

    @Test func `a request with an older credential is retried without a refresh`() {
        var machine = machine()
        _ = machine.set(2)
        guard case .retry = machine.retry("a", seen: 0, now: 0) else {
            Issue.record("not retried")
            return
        }
        guard case .lookAgain = machine.adapt("a", seen: 0, requiresRefresh: true, now: 0) else {
            Issue.record("not looked again")
            return
        }
    }

    @Test func `after a failed refresh retries fail until a credential is applied again`() throws {
        var machine = machine()
        let action = machine.retry("a", seen: 0, now: 0)
        let begun = try #require(refresh(action))
        let settlement = machine.didRefresh(id: begun.id, result: .failure(Failure()))
        #expect(settlement?.error is Failure)
        guard case .fail(let error) = machine.retry("b", seen: 0, now: 0) else {
            Issue.record("not failed")
            return
        }
        #expect(error is Failure)
        _ = machine.adapt("c", seen: 0, requiresRefresh: false, now: 0)
        let again = machine.retry("c", seen: 0, now: 0)
        #expect(refresh(again) != nil)
    }

    @Test func `setting a credential invalidates the running refresh`() throws {
        var machine = machine()
        let action = machine.retry("a", seen: 0, now: 0)
        let begun = try #require(refresh(action))
        let released = machine.set(7)
        let late = machine.didRefresh(id: begun.id, result: .success(2))
        #expect(released.retries == ["a"])
        #expect(late == nil)
        #expect(machine.credential == 7)
    }

    @Test(arguments: [true, false])
    func `a late result of an older refresh does not change the newer one`(
        isSuccess: Bool
    ) throws {
        var machine = machine()
        let first = machine.retry("a", seen: 0, now: 0)
        let older = try #require(refresh(first))
        _ = machine.set(2)
        let second = machine.retry("b", seen: 1, now: 0)
        let newer = try #require(refresh(second))
        #expect(newer.id != older.id && newer.credential == 2)
        let late = machine.didRefresh(
            id: older.id, result: isSuccess ? .success(99) : .failure(Failure()))
        #expect(late == nil)
        #expect(machine.credential == 2 && machine.version == 1)
        // Requests still wait for the newer refresh, and no third one begins.
        let third = machine.retry("c", seen: 1, now: 0)
        #expect(refresh(third) == nil)
        let settled = machine.didRefresh(id: newer.id, result: .success(3))
        #expect(settled?.retries == ["b", "c"] && settled?.error == nil)
        #expect(machine.credential == 3)
        // The older result changes nothing after both have ended, either.
        let later = machine.didRefresh(id: older.id, result: .success(99))
        #expect(later == nil && machine.credential == 3)
    }

    @Test func `a request waiting for a proactive refresh ignores the result of an older one`()
        throws
    {
        var machine = machine()
        let first = machine.adapt("a", seen: 0, requiresRefresh: true, now: 0)
        let older = try #require(refresh(first))
        #expect(machine.set(2).adapts == ["a"])
        let second = machine.adapt("b", seen: 1, requiresRefresh: true, now: 0)
        let newer = try #require(refresh(second))
        let late = machine.didRefresh(id: older.id, result: .success(99))
        #expect(late == nil)
        let settled = machine.didRefresh(id: newer.id, result: .success(3))
        #expect(settled?.adapts == ["b"])
        #expect(machine.credential == 3)
    }

    @Test func `a refresh above the limit fails all waiting requests, and the window expires`()
        throws
    {
        var machine = machine(attempts: 2)
        for version in 0..<2 {
            let action = machine.retry("a", seen: UInt64(version), now: Double(version))
            let begun = try #require(refresh(action))
            _ = machine.didRefresh(id: begun.id, result: .success(version))
        }
        guard case .settle(let settlement) = machine.retry("b", seen: 2, now: 2) else {
            Issue.record("not settled")
            return
        }
        #expect(settlement.retries == ["b"])
        #expect(settlement.error as? AuthenticationError == .excessiveRefresh)
        _ = machine.adapt("c", seen: 2, requiresRefresh: false, now: 31)
        let again = machine.retry("c", seen: 2, now: 31.5)
        #expect(refresh(again) != nil)
        #expect(machine.refreshTimes == [31.5])
    }

    @Test func `every waiting request is settled once in any order of events`() {
        for seed in 0..<300 as Range<UInt64> {
            var random = Steps(state: seed)
            var machine = machine(attempts: seed.isMultiple(of: 2) ? 3 : nil)
            var waiting: Set<String> = []
            var refreshes: [Machine.Refresh] = []
            var now = 0.0
            func settle(_ settlement: Machine.Settlement) {
                for name in settlement.adapts + settlement.retries {
                    #expect(waiting.remove(name) != nil, "seed \(seed)")
                }
            }
            for step in 0..<200 {
                now += Double(random.next() % 5)
                let name = "\(step)"
                switch random.next() % 4 {
                case 0:
                    waiting.insert(name)
                    let requires = random.next().isMultiple(of: 3)
                    switch machine.adapt(
                        name, seen: machine.version, requiresRefresh: requires, now: now)
                    {
                    case .wait(let refresh): if let refresh { refreshes.append(refresh) }
                    case .settle(let settlement): settle(settlement)
                    case .apply, .fail, .lookAgain: waiting.remove(name)
                    }
                case 1:
                    waiting.insert(name)
                    switch machine.retry(name, seen: machine.version, now: now) {
                    case .wait(let refresh): if let refresh { refreshes.append(refresh) }
                    case .settle(let settlement): settle(settlement)
                    case .retry, .fail: waiting.remove(name)
                    }
                case 2:
                    guard !refreshes.isEmpty else { continue }
                    let index = Int(random.next() % UInt64(refreshes.count))
                    let refresh = refreshes.remove(at: index)
                    let isGood = !random.next().isMultiple(of: 3)
                    let result: Result<Int, any Error> =
                        isGood ? .success(step) : .failure(Failure())
                    if let settlement = machine.didRefresh(id: refresh.id, result: result) {
                        settle(settlement)
                    }
                default:
                    if random.next().isMultiple(of: 8) {
                        settle(machine.set(random.next().isMultiple(of: 2) ? step : nil))
                    }
                }
            }
            settle(machine.set(1))
            #expect(waiting.isEmpty, "seed \(seed)")
        }
    }
}

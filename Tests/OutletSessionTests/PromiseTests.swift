import OutletTestSupport
import Testing

@testable import OutletSession

/// Tests a value that is set once and awaited by any number of tasks.
@Suite(.timeLimit(.minutes(patience))) struct PromiseTests {
    /// A value whose release a weak reference can detect.
    private final class Counted: Sendable {}

    @Test func `a read after the value was set returns at once`() async {
        let promise = Promise<String>()
        promise.fulfil("a")
        #expect(await promise.value == "a")
        #expect(await promise.value == "a")
    }

    @Test func `only the first value is used`() async {
        let promise = Promise<String>()
        promise.fulfil("a")
        promise.fulfil("b")
        #expect(await promise.value == "a")
    }

    @Test(arguments: [1, 2, 100]) func `all waiting tasks get the value`(count: Int) async {
        let promise = Promise<Int>()
        let values = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { await promise.value } }
            // Some tasks wait already; others start to wait after the value is set.
            await Task.yield()
            promise.fulfil(7)
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: 7, count: count))
    }

    @Test func `each waiter is stored once, in any number`() async {
        var waiters = Waiters()
        await withUnsafeContinuation { first in
            let isOver = waiters.add(first)
            #expect(!isOver)
            waiters.first?.resume()
        }
        #expect(waiters.others.isEmpty)
        await withUnsafeContinuation { second in
            _ = waiters.add(second)
            #expect(waiters.others.count == 1)
            waiters.others.first?.resume()
        }
        waiters.isOver = true
        await withUnsafeContinuation { late in
            let isOver = waiters.add(late)
            #expect(isOver)
            late.resume()
        }
        #expect(waiters.others.count == 1)
    }

    @Test func `a promise releases its value, and can be released without one`() {
        weak var kept: Counted?
        do {
            let promise = Promise<Counted>()
            let value = Counted()
            kept = value
            promise.fulfil(value)
        }
        #expect(kept == nil)
        // Releasing an unfulfilled promise does not treat uninitialised memory as a value.
        _ = Promise<Counted>()
        _ = Promise<String>()
    }

    @Test func `a second value is released`() {
        weak var late: Counted?
        let promise = Promise<Counted>()
        promise.fulfil(Counted())
        do {
            let value = Counted()
            late = value
            promise.fulfil(value)
        }
        #expect(late == nil)
        withExtendedLifetime(promise) {}
    }
}

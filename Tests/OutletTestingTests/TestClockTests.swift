import OutletTestSupport
import OutletTesting
import Testing

@Suite struct TestClockTests {
    let clock = TestClock()
    let seen = Recorder<String>()

    @Test func `sleeping tasks wake at their times and in order`() async throws {
        let (clock, seen) = (clock, seen)
        let late = Task {
            try await clock.sleep(for: .seconds(2))
            seen.record("late \(clock.now.offset)")
        }
        let early = Task {
            try await clock.sleep(for: .seconds(1))
            seen.record("early")
        }
        await clock.waiters(2)
        clock.advance(by: .milliseconds(999))
        #expect(clock.waiting == 2)
        clock.advance(by: .milliseconds(1))
        try await early.value
        #expect(seen.values == ["early"])
        clock.advance(by: .seconds(1))
        try await late.value
        #expect(seen.values == ["early", "late 2.0 seconds"])
        try await clock.sleep(for: .zero)
    }

    @Test func `a cancelled sleep ends at once`() async {
        let clock = clock
        let task = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.waiters()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.waiting == 0)
        // A wait for sleeping tasks can be cancelled, too.
        let waiting = Task { await clock.waiters(5) }
        waiting.cancel()
        await waiting.value
    }

    @Test func `a wait for arrivals at a gate can be cancelled`() async {
        let gate = StubGate()
        let arrival = Task { await gate.arrival(3) }
        arrival.cancel()
        await arrival.value
        gate.open()
        #expect(gate.arrivals == 0)
    }
}

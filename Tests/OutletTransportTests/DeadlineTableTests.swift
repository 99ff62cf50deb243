import OutletTestSupport
import Testing

@testable import OutletTransport

@Suite struct DeadlineTableTests {
    @Test func `a timer is armed only for what comes earlier than the armed one`() {
        var table = DeadlineTable()
        #expect(table.add(at: 100) {}.wakeUp == 100)
        #expect(table.add(at: 200) {}.wakeUp == nil)
        #expect(table.add(at: 50) {}.wakeUp == 50)
    }

    @Test func `what is due comes in the order of its time, and the timer goes on to the next`() {
        var table = DeadlineTable()
        let ran = Recorder<Int>()
        _ = table.add(at: 30) { ran.record(30) }
        _ = table.add(at: 10) { ran.record(10) }
        _ = table.add(at: 20) { ran.record(20) }
        let (due, wakeUp) = table.takeDue(now: 20, armedFor: 10)
        for action in due { action() }
        #expect(ran.values == [10, 20])
        #expect(wakeUp == 30)
    }

    @Test func `a timer that is late arms nothing beside the one that is armed`() {
        var table = DeadlineTable()
        _ = table.add(at: 100) {}
        _ = table.add(at: 50) {}
        _ = table.add(at: 200) {}
        // Two timers are there for 100: the first one of all, and the one that 50 has armed anew.
        #expect(table.takeDue(now: 50, armedFor: 50).wakeUp == 100)
        #expect(table.takeDue(now: 100, armedFor: 100).wakeUp == 200)
        let late = table.takeDue(now: 100, armedFor: 100)
        #expect(late.due.isEmpty && late.wakeUp == nil)
        #expect(table.takeDue(now: 200, armedFor: 200).due.count == 1)
    }

    @Test func `what was called off does not run, and is let go at once`() {
        final class Captured: Sendable {}
        var table = DeadlineTable()
        weak let watched: Captured?
        let token: Deadlines.Token
        do {
            let captured = Captured()
            watched = captured
            token = table.add(at: 10) { _ = captured }.0
        }
        #expect(watched != nil)
        _ = table.remove(token)
        #expect(watched == nil)
        #expect(table.takeDue(now: 10, armedFor: 10).due.isEmpty)
    }

    @Test func `a timer that was replaced by an earlier one arms no third`() {
        var table = DeadlineTable()
        _ = table.add(at: 100) {}
        _ = table.add(at: 50) {}
        #expect(table.takeDue(now: 50, armedFor: 50).wakeUp == 100)
        #expect(table.takeDue(now: 100, armedFor: 100).wakeUp == nil)
        #expect(table.takeDue(now: 100, armedFor: 100).due.isEmpty)
    }
}

import OutletTestSupport
import Testing

@testable import OutletTransport

@Suite struct DeadlineTableTests {
    @Test func `a timer is armed only for a deadline before the armed one`() {
        var table = DeadlineTable()
        #expect(table.add(at: 100) {}.wakeUp == 100)
        #expect(table.add(at: 200) {}.wakeUp == nil)
        #expect(table.add(at: 50) {}.wakeUp == 50)
    }

    @Test func `due actions are returned in time order, and the timer is armed for the next`() {
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

    @Test func `a late timer does not arm a second timer`() {
        var table = DeadlineTable()
        _ = table.add(at: 100) {}
        _ = table.add(at: 50) {}
        _ = table.add(at: 200) {}
        // Two timers exist for 100: the first one, and the one armed after 50.
        #expect(table.takeDue(now: 50, armedFor: 50).wakeUp == 100)
        #expect(table.takeDue(now: 100, armedFor: 100).wakeUp == 200)
        let late = table.takeDue(now: 100, armedFor: 100)
        #expect(late.due.isEmpty && late.wakeUp == nil)
        #expect(table.takeDue(now: 200, armedFor: 200).due.count == 1)
    }

    @Test func `a removed action does not run and is released at once`() {
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

    @Test func `a timer that an earlier one has replaced arms no third one`() {
        var table = DeadlineTable()
        _ = table.add(at: 100) {}
        _ = table.add(at: 50) {}
        #expect(table.takeDue(now: 50, armedFor: 50).wakeUp == 100)
        #expect(table.takeDue(now: 100, armedFor: 100).wakeUp == nil)
        #expect(table.takeDue(now: 100, armedFor: 100).due.isEmpty)
    }
}

import Testing

@testable import OutletLayers

/// Which jobs share one transfer.
@Suite struct SharingMachineTests {
    private func machine(of count: UInt64) -> SharingMachine<String> {
        var machine = SharingMachine<String>()
        for id in 0..<count { _ = machine.join("\(id)", id: id) }
        return machine
    }

    @Test func `the first begins the transfer, and others join it`() {
        var machine = SharingMachine<String>()
        let (first, second) = (machine.join("a", id: 1), machine.join("b", id: 2))
        #expect([first, second] == [.begins, .joins])
        #expect(machine.members == ["a", "b"])
    }

    @Test func `one that comes when the transfer has ended needs another`() {
        var machine = machine(of: 2)
        let members = machine.finish()
        let late = machine.join("late", id: 9)
        let again = machine.finish()
        #expect(members == ["0", "1"])
        #expect(late == .hasEnded)
        #expect(machine.members.isEmpty && again.isEmpty)
    }

    @Test func `the last one to leave ends the transfer, once`() {
        var machine = machine(of: 2)
        let first = machine.leave(0)
        let again = machine.leave(0)
        let last = machine.leave(1)
        let after = machine.leave(1)
        let late = machine.join("late", id: 9)
        #expect([first, again, last, after] == [false, false, true, false])
        #expect(late == .hasEnded)
    }

    @Test func `a leave after the end ends nothing`() {
        var machine = machine(of: 1)
        _ = machine.finish()
        let isLast = machine.leave(0)
        #expect(!isLast)
    }

    @Test func `the transfer waits while all are suspended`() {
        var machine = machine(of: 2)
        machine.suspend(0, true)
        #expect(!machine.allAreSuspended)
        machine.suspend(1, true)
        #expect(machine.allAreSuspended)
        _ = machine.join("third", id: 2)
        #expect(!machine.allAreSuspended)
        machine.suspend(2, true)
        machine.suspend(0, false)
        #expect(!machine.allAreSuspended)
    }

    @Test func `one that has left counts for nothing`() {
        var machine = machine(of: 2)
        machine.suspend(0, true)
        _ = machine.leave(1)
        #expect(machine.allAreSuspended)
        machine.suspend(1, true)
        machine.suspend(1, false)
        #expect(machine.allAreSuspended)
        _ = machine.leave(0)
        #expect(!machine.allAreSuspended)
    }
}

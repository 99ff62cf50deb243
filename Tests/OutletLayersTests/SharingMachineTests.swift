import Testing

@testable import OutletLayers

/// The state machine of jobs that share one transfer.
@Suite struct SharingMachineTests {
    private func machine(of count: UInt64) -> SharingMachine<String> {
        var machine = SharingMachine<String>()
        for id in 0..<count { _ = machine.join("\(id)", id: id) }
        return machine
    }

    @Test func `the first job starts the transfer, and others join it`() {
        var machine = SharingMachine<String>()
        let (first, second) = (machine.join("a", id: 1), machine.join("b", id: 2))
        #expect([first, second] == [.begins, .joins])
        #expect(machine.members == ["a", "b"])
    }

    @Test func `a job that joins after the end needs another transfer`() {
        var machine = machine(of: 2)
        let members = machine.finish()
        let late = machine.join("late", id: 9)
        let again = machine.finish()
        #expect(members == ["0", "1"])
        #expect(late == .hasEnded)
        #expect(machine.members.isEmpty && again.isEmpty)
    }

    @Test func `the last job that leaves ends the transfer once`() {
        var machine = machine(of: 2)
        let first = machine.leave(0)
        let again = machine.leave(0)
        let last = machine.leave(1)
        let after = machine.leave(1)
        let late = machine.join("late", id: 9)
        #expect([first, again, last, after] == [false, false, true, false])
        #expect(late == .hasEnded)
    }

    @Test func `a job that leaves after the end has no effect`() {
        var machine = machine(of: 1)
        _ = machine.finish()
        let isLast = machine.leave(0)
        #expect(!isLast)
    }

    @Test func `the transfer is suspended only while all jobs are suspended`() {
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

    @Test func `a job that has left no longer counts`() {
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

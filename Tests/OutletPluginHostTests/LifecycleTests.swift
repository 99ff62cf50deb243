import Testing

@testable import OutletPluginHost

@Suite struct LifecycleTests {
    @Test func `an idle plugin is quiesced at once, then destroyed`() {
        var life = PluginLifecycle()
        #expect(life.stop() == .callQuiesce)
        #expect(life.quiesceReturned(isPending: false) == .callDestroy)
        #expect(life.state == .closed)
    }

    @Test func `a busy plugin is quiesced when its last call has returned`() {
        var life = PluginLifecycle()
        #expect(life.enter() == true)
        #expect(life.enter() == true)
        #expect(life.stop() == .nothing)
        #expect(life.enter() == false)
        #expect(life.leave() == .nothing)
        #expect(life.leave() == .callQuiesce)
    }

    @Test func `a busy plugin that was stopped is called only for hooks that report an end`() {
        var life = PluginLifecycle()
        #expect(life.enter(.adapt) == true)
        _ = life.stop()
        #expect(life.enter(.adapt) == false)
        #expect(life.enter(.requestDone) == true)
        #expect(life.leave() == .nothing)
        #expect(life.leave() == .callQuiesce)
        #expect(life.enter(.requestDone) == false)
    }

    @Test func `a plugin that is stopped twice is destroyed once`() {
        var life = PluginLifecycle()
        #expect(life.stop() == .callQuiesce)
        #expect(life.stop() == .nothing)
        #expect(life.quiesceReturned(isPending: false) == .callDestroy)
        #expect(life.stop() == .nothing)
        #expect(life.quiesceReturned(isPending: false) == .nothing)
    }

    @Test func `a plugin that reports quiesced inside quiesce is destroyed after quiesce returns`()
    {
        var life = PluginLifecycle()
        _ = life.stop()
        #expect(life.quiesced() == .nothing)
        #expect(life.quiesceReturned(isPending: true) == .callDestroy)
    }

    @Test func `a plugin that reports quiesced later is destroyed then`() {
        var life = PluginLifecycle()
        _ = life.stop()
        #expect(life.quiesceReturned(isPending: true) == .nothing)
        #expect(life.quiesced() == .callDestroy)
        #expect(life.quiesced() == nil)
    }

    @Test func `reporting quiesced without a stop is invalid`() {
        var life = PluginLifecycle()
        #expect(life.quiesced() == nil)
        #expect(life.state == .serving(calls: 0))
    }

    @Test func `a plugin is abandoned permanently at the deadline`() {
        var life = PluginLifecycle()
        _ = life.enter()
        _ = life.stop()
        #expect(life.deadlinePassed() == true)
        #expect(life.deadlinePassed() == false)
        #expect(life.leave() == .nothing)
        #expect(life.quiesceReturned(isPending: false) == .nothing)
        #expect(life.quiesced() == nil)
        #expect(life.enter() == false)
        #expect(life.state == .abandoned)
    }

    @Test func `a destroyed plugin is not abandoned`() {
        var life = PluginLifecycle()
        _ = life.stop()
        _ = life.quiesceReturned(isPending: false)
        #expect(life.deadlinePassed() == false)
    }
}

@Suite struct CompletionMachineTests {
    private typealias Machine = CompletionMachine<Int>

    /// Returns a machine whose hook has been called and has not returned.
    private func begun() -> Machine {
        var machine = Machine()
        #expect(machine.begin() == true)
        #expect(machine.call() == true)
        return machine
    }

    private func delivered(_ action: Machine.Action) -> Int? {
        if case .deliver(let answer) = action { answer } else { nil }
    }

    private func givenUp(_ action: Machine.Action, notifiesPlugin: Bool = true) -> Int? {
        if case .giveUp(let answer, _, notifiesPlugin) = action { answer } else { nil }
    }

    private func isRefused(_ action: Machine.Action, breach: Bool) -> Bool {
        if case .refuse(breach) = action { true } else { false }
    }

    @Test func `a result settled inside the hook is delivered after the hook returns`() {
        var machine = begun()
        #expect(delivered(machine.settle(1)) == nil)
        #expect(delivered(machine.hookReturned(nil)) == 1)
    }

    @Test func `a result settled inside the hook has priority over its status`() {
        var machine = begun()
        _ = machine.settle(1)
        #expect(delivered(machine.hookReturned(2)) == 1)
    }

    @Test func `a hook that is too late answers, and no cancel follows`() {
        var machine = Machine()
        #expect(machine.begin() == true)
        #expect(delivered(machine.hookReturned(2)) == 2)
        #expect(givenUp(machine.cancel(3)) == nil)
        #expect(machine.call() == false)
    }

    @Test func `a hook that is given up before it is called is not cancelled`() {
        var machine = Machine()
        #expect(machine.begin() == true)
        #expect(givenUp(machine.cancel(3), notifiesPlugin: false) == 3)
        #expect(machine.call() == false)
        #expect(delivered(machine.hookReturned(nil)) == nil)
    }

    @Test func `without OUTLET_PENDING the status of the hook is the result`() {
        var machine = begun()
        #expect(delivered(machine.hookReturned(2)) == 2)
        #expect(isRefused(machine.settle(1), breach: true))
    }

    @Test func `a pending result is delivered once`() {
        var machine = begun()
        #expect(delivered(machine.hookReturned(nil)) == nil)
        #expect(delivered(machine.settle(1)) == 1)
        #expect(isRefused(machine.settle(2), breach: true))
        #expect(givenUp(machine.cancel(3)) == nil)
    }

    @Test func `a second settlement inside the hook is a breach`() {
        var machine = begun()
        _ = machine.settle(1)
        #expect(isRefused(machine.settle(2), breach: true))
        #expect(delivered(machine.hookReturned(nil)) == 1)
    }

    @Test func `a settlement after a cancel is refused and not a breach`() {
        var machine = begun()
        _ = machine.hookReturned(nil)
        #expect(givenUp(machine.cancel(3)) == 3)
        #expect(isRefused(machine.settle(1), breach: false))
        #expect(delivered(machine.hookReturned(4)) == nil)
    }

    @Test func `after a cancel only one settlement is no breach`() {
        var machine = begun()
        _ = machine.hookReturned(nil)
        _ = machine.cancel(3)
        #expect(machine.isGivenUp)
        #expect(isRefused(machine.settle(1), breach: false))
        #expect(!machine.isGivenUp)
        #expect(isRefused(machine.settle(1), breach: true))
    }

    @Test func `a hook that returns a status after a cancel may not settle any more`() {
        var machine = begun()
        _ = machine.cancel(3)
        #expect(isRefused(machine.hookReturned(4), breach: false))
        #expect(!machine.isGivenUp)
        #expect(isRefused(machine.settle(1), breach: true))
    }

    @Test
    func `a hook that is cancelled after it has settled is over when it returns`() {
        var machine = begun()
        _ = machine.settle(1)
        #expect(givenUp(machine.cancel(3)) == 3)
        #expect(machine.isGivenUp)
        #expect(isRefused(machine.settle(2), breach: true))
        #expect(isRefused(machine.hookReturned(nil), breach: false))
        #expect(machine.isOver)
        #expect(!machine.isGivenUp)
    }

    @Test func `a status after a cancel is refused and not a breach`() {
        var machine = begun()
        #expect(givenUp(machine.cancel(3)) == 3)
        #expect(isRefused(machine.hookReturned(4), breach: false))
    }

    @Test func `a hook that is cancelled before it begins is not called, and gets no cancel`() {
        var machine = Machine()
        #expect(givenUp(machine.cancel(3), notifiesPlugin: false) == 3)
        #expect(machine.begin() == false)
        #expect(delivered(machine.hookReturned(nil)) == nil)
        #expect(machine.isOver)
    }
}

@Suite struct HandleTableTests {
    private final class Thing: Sendable {}
    private final class Other: Sendable {}

    @Test func `a handle finds its object until it is removed`() {
        let table = HandleTable()
        let thing = Thing()
        let id = table.insert(thing, owner: 0)
        #expect(table.find(id, as: Thing.self) === thing)
        table.remove(id)
        #expect(table.find(id, as: Thing.self) == nil)
    }

    @Test func `a reused slot has a new handle`() {
        let table = HandleTable()
        let first = table.insert(Thing(), owner: 0)
        table.remove(first)
        let second = table.insert(Thing(), owner: 0)
        #expect(first != second)
        #expect(table.find(first, as: Thing.self) == nil)
        #expect(table.find(second, as: Thing.self) != nil)
        table.remove(first)
        #expect(table.find(second, as: Thing.self) != nil)
    }

    @Test func `a handle of another type finds nothing`() {
        let table = HandleTable()
        let id = table.insert(Thing(), owner: 0)
        #expect(table.find(id, as: Other.self) == nil)
    }

    @Test func `zero and handles that were never issued find nothing`() {
        let table = HandleTable()
        _ = table.insert(Thing(), owner: 0)
        for id in [0, 1, UInt64.max, 1 << 48, 0xFF_FFFF] {
            #expect(table.find(id, as: Thing.self) == nil)
        }
    }

    @Test func `the owner of a removed handle can still be found`() {
        let table = HandleTable()
        let owner = PluginOwner(id: "a", observer: nil)
        let number = table.number(owner)
        let id = table.insert(Thing(), owner: number)
        table.remove(id)
        #expect(table.owner(numbered: UInt16(id >> 48)) === owner)
        #expect(table.owner(numbered: 0) == nil && table.owner(numbered: number + 1) == nil)
    }

    @Test func `a found object lives after its handle is removed`() {
        let table = HandleTable()
        weak var weakThing: Thing?
        do {
            let id = table.insert(Thing(), owner: 0)
            let pinned = table.find(id, as: Thing.self)
            weakThing = pinned
            table.remove(id)
            #expect(weakThing != nil)
            withExtendedLifetime(pinned) {}
        }
        #expect(weakThing == nil)
    }
}

import Testing

@testable import OutletCurl

/// Tests the state machine on one thread: each test is a sequence of calls that, in use, several
/// threads make.
@Suite struct `The mailbox's state machine` {
    typealias Machine = MailboxMachine<Int>

    /// A state, and the calls that bring a new machine into it.
    enum Way: CaseIterable {
        case undriven, running, polling, parked, inHandlers, callerOfUndriven, callerOfParked
        case closed

        var state: Machine.State {
            switch self {
            case .undriven: .undriven
            case .running: .running
            case .polling: .polling
            case .parked: .parked
            case .inHandlers: .inHandlers
            case .callerOfUndriven: .callerRuns(before: .undriven)
            case .callerOfParked: .callerRuns(before: .parked)
            case .closed: .closed
            }
        }

        /// Returns a machine in the state, without messages.
        func machine() throws -> Machine {
            var machine = Machine()
            guard self != .undriven else { return machine }
            if self == .callerOfUndriven {
                #expect(machine.post(0, mayRunOnCaller: true) == .runOnCaller)
            } else {
                #expect(machine.post(0) == .drive)
                var taken: [Int] = []
                _ = machine.take(into: &taken)
            }
            switch self {
            case .polling: #expect(machine.poll() == true)
            case .parked, .callerOfParked: #expect(machine.park() == true)
            case .inHandlers:
                #expect(machine.enterHandlers() == .enterAfterSettingTimer(doubled: 0))
            case .closed: #expect(machine.close() == true)
            default: break
            }
            if self == .callerOfParked {
                #expect(machine.post(0, mayRunOnCaller: true) == .runOnCaller)
            }
            try #require(machine.state == state && machine.messages.isEmpty)
            return machine
        }
    }

    @Test func `a new machine has no driver and no messages`() {
        let machine = Machine()
        #expect(machine.state == .undriven && machine.messages.isEmpty && !machine.hasForeign)
    }

    @Test(arguments: [
        (Way.undriven, Machine.Action.drive, Machine.State.running),
        (.running, .none, .running),
        (.polling, .wake, .running),
        (.parked, .unpark, .running),
        (.inHandlers, .none, .inHandlers),
        (.callerOfUndriven, .none, .callerRuns(before: .undriven)),
        (.callerOfParked, .none, .callerRuns(before: .parked)),
    ])
    func `post stores a message and returns the action that wakes the driver`(
        way: Way, action: Machine.Action, after: Machine.State
    ) throws {
        var machine = try way.machine()
        #expect(machine.post(1) == action)
        #expect(machine.state == after)
        #expect(machine.messages == [1])
        #expect(machine.hasForeign)
    }

    @Test(arguments: [
        (Way.undriven, Machine.Action.runOnCaller, Machine.State.callerRuns(before: .undriven)),
        (.parked, .runOnCaller, .callerRuns(before: .parked)),
        (.running, .none, .running),
        (.polling, .wake, .running),
        (.inHandlers, .none, .inHandlers),
        (.callerOfUndriven, .none, .callerRuns(before: .undriven)),
        (.callerOfParked, .none, .callerRuns(before: .parked)),
    ])
    func `a caller may run the loop only while the loop is idle`(
        way: Way, action: Machine.Action, after: Machine.State
    ) throws {
        var machine = try way.machine()
        #expect(machine.post(1, mayRunOnCaller: true) == action)
        #expect(machine.state == after)
        // A caller that drives the loop handles its message itself, so none is stored.
        #expect(machine.messages == (action == .runOnCaller ? [] : [1]))
        #expect(machine.hasForeign == (action != .runOnCaller))
    }

    @Test(arguments: [true, false])
    func `a closed machine refuses messages`(mayRunOnCaller: Bool) throws {
        var machine = try Way.closed.machine()
        #expect(machine.post(1, mayRunOnCaller: mayRunOnCaller) == .refuse)
        #expect(machine.state == .closed)
        #expect(machine.messages.isEmpty && !machine.hasForeign)
    }

    @Test(arguments: [Way.undriven, .polling, .parked])
    func `only the first of several messages asks for a wake-up`(way: Way) throws {
        var machine = try way.machine()
        #expect(machine.post(1) != .none)
        for message in 2...5 { #expect(machine.post(message) == .none) }
        #expect(machine.messages == [1, 2, 3, 4, 5])
    }

    @Test(arguments: [Way.running, .polling, .parked])
    func `take returns all messages in order and changes the state to running`(way: Way) throws {
        var machine = try way.machine()
        for message in 1...3 { _ = machine.post(message) }
        var taken: [Int] = []
        #expect(machine.take(into: &taken) == true)
        #expect(taken == [1, 2, 3])
        #expect(machine.state == .running && machine.messages.isEmpty)
        // `take` reports whether this batch contains messages from other threads.
        taken = []
        #expect(machine.take(into: &taken) == false)
        #expect(taken.isEmpty)
    }

    @Test func `a wait that ends without a message changes the state to running`() throws {
        for way in [Way.polling, .parked] {
            var machine = try way.machine()
            var taken: [Int] = []
            #expect(machine.take(into: &taken) == false)
            // The driver does not wait any more and will read the message: no wake-up is needed.
            #expect(machine.post(1) == .none)
        }
    }

    @Test func `a message from the driver's own thread needs no wake-up`() throws {
        var machine = try Way.polling.machine()
        #expect(machine.post(1, isDriver: true) == .none)
        #expect(machine.state == .running)
        #expect(machine.messages == [1])
    }

    @Test func `take reports whether other threads have posted messages`() throws {
        var machine = try Way.running.machine()
        var taken: [Int] = []
        _ = machine.post(1, isDriver: true)
        #expect(machine.take(into: &taken) == false)
        taken = []
        _ = machine.post(2, isDriver: true)
        _ = machine.post(3)
        _ = machine.post(4, isDriver: true)
        #expect(machine.take(into: &taken) == true)
    }

    /// The four calls with which a driver stops running the loop, and the resulting states.
    private static let exits: [(Machine.State, @Sendable (inout Machine) -> Bool)] = [
        (.polling, { $0.poll() }), (.parked, { $0.park() }), (.undriven, { $0.release() }),
        (.closed, { $0.close() }),
    ]

    @Test func `the driver can stop running the loop when no message is stored`() throws {
        for (state, leave) in Self.exits {
            var machine = try Way.running.machine()
            #expect(leave(&machine) == true)
            #expect(machine.state == state)
        }
    }

    @Test func `the driver continues to run the loop when a message is stored`() throws {
        for (_, leave) in Self.exits {
            var machine = try Way.running.machine()
            _ = machine.post(1)
            #expect(leave(&machine) == false)
            #expect(machine.state == .running)
            #expect(machine.messages == [1])
        }
    }

    @Test(arguments: [
        (Way.callerOfUndriven, Machine.State.undriven), (.callerOfParked, .parked),
    ])
    func `an idle return of a caller restores the previous state`(
        way: Way, after: Machine.State
    ) throws {
        var machine = try way.machine()
        #expect(machine.returnFromCaller(isIdle: true) == .none)
        #expect(machine.state == after)
    }

    @Test(arguments: [
        (Way.callerOfUndriven, Machine.Action.drive), (.callerOfParked, .unpark),
    ])
    func `a caller that returns with pending work asks for a driver`(
        way: Way, action: Machine.Action
    ) throws {
        var machine = try way.machine()
        #expect(machine.returnFromCaller(isIdle: false) == action)
        #expect(machine.state == .running)
        var other = try way.machine()
        _ = other.post(1)
        #expect(other.returnFromCaller(isIdle: true) == action)
        #expect(other.state == .running && other.messages == [1])
    }

    @Test func `a driver that returns from its handlers in time still drives`() throws {
        var machine = try Way.inHandlers.machine()
        _ = machine.post(1)
        #expect(machine.returnFromHandlers() == true)
        #expect(machine.state == .running && machine.messages == [1])
        #expect(machine.enterHandlers() == .enter)
    }

    @Test func `the standby thread relieves a driver only once`() throws {
        var machine = try Way.inHandlers.machine()
        #expect(machine.relieve() == .drive)
        #expect(machine.state == .running && machine.hasRelieved)
        #expect(machine.relieve() == .wait)
        #expect(machine.returnFromHandlers() == false)
        #expect(machine.state == .running && !machine.hasRelieved)
    }

    @Test func `a second driver enters no handlers while the first one is in its own`() throws {
        var machine = try Way.inHandlers.machine()
        _ = machine.relieve()
        #expect(machine.enterHandlers() == .refuse)
        #expect(machine.state == .running)
        _ = machine.returnFromHandlers()
        #expect(machine.enterHandlers() == .enterAfterSettingTimer(doubled: 0))
    }

    /// Returns a machine that is in its second handlers, for the first of which the timer was set.
    private func secondHandlers() throws -> Machine {
        var machine = try Way.inHandlers.machine()
        _ = machine.returnFromHandlers()
        #expect(machine.enterHandlers() == .enter)
        return machine
    }

    @Test func `a driver in later handlers than the timer's is relieved at the next expiry`() throws
    {
        var machine = try secondHandlers()
        #expect(machine.relieve() == .setTimer(doubled: 0))
        #expect(machine.state == .inHandlers && machine.hasTimer)
        #expect(machine.relieve() == .drive)
    }

    @Test func `the timer stays set while handlers are entered often`() throws {
        var machine = try secondHandlers()
        _ = machine.returnFromHandlers()
        #expect(machine.enterHandlers() == .enter)
        _ = machine.returnFromHandlers()
        #expect(machine.relieve() == .setTimer(doubled: 1))
        // Not since.
        #expect(machine.relieve() == .wait)
        #expect(!machine.hasTimer)
        #expect(machine.enterHandlers() == .enterAfterSettingTimer(doubled: 2))
    }

    @Test func `the timer is set for longer while handlers are short, up to a limit`() throws {
        var machine = try Way.inHandlers.machine()
        for doubled in [1, 2, 3, 4, 4] {
            _ = machine.returnFromHandlers()
            #expect(machine.relieve() == .wait)
            #expect(machine.enterHandlers() == .enterAfterSettingTimer(doubled: doubled))
        }
        _ = machine.returnFromHandlers()
        #expect(machine.enterHandlers() == .enter)
        // These may be long.
        #expect(machine.relieve() == .setTimer(doubled: 0))
        #expect(machine.relieve() == .drive)
        _ = machine.returnFromHandlers()
        #expect(machine.enterHandlers() == .enterAfterSettingTimer(doubled: 0))
    }

    @Test func `a timer that could not be set is set for the next handlers`() throws {
        var machine = try Way.inHandlers.machine()
        machine.loseTimer()
        #expect(machine.returnFromHandlers() == true)
        #expect(machine.enterHandlers() == .enterAfterSettingTimer(doubled: 0))
    }

    @Test(arguments: Way.allCases.filter { $0 != .inHandlers })
    func `the standby thread waits unless the driver is in handlers or the loop has ended`(
        way: Way
    ) throws {
        var machine = try way.machine()
        #expect(machine.relieve() == (way == .closed ? .end : .wait))
        #expect(machine.state == way.state)
    }

    @Test func `a driver that returns after the loop has ended does not drive`() throws {
        var machine = try Way.inHandlers.machine()
        _ = machine.relieve()
        #expect(machine.close() == true)
        #expect(machine.returnFromHandlers() == false)
        #expect(machine.state == .closed)
        #expect(machine.relieve() == .end)
    }

    /// The calls that threads make on the machine.
    private enum Step: CaseIterable {
        case post, postOwn, postOnCaller, take, poll, park, release, close, returnIdle, returnBusy
        case enterHandlers, returnFromHandlers, relieve
    }

    @Test func `no message is lost or left unread in any sequence of five steps`() {
        /// A machine, the number of messages posted to it, and the messages read from it.
        struct Run {
            var machine = Machine()
            var posted = 0
            var read: [Int] = []
        }
        // With 100,000 sequences, an `#expect` for each would be slow, so only faults are recorded.
        var faults: [String] = []
        func check(_ isRight: Bool, _ path: [Step], _ fault: String) {
            if !isRight { faults.append("\(path): \(fault)") }
        }
        func go(_ run: Run, _ path: [Step]) {
            let all = run.read + run.machine.messages
            check(all == Array(0..<run.posted), path, "messages lost or out of order: \(all)")
            // While messages are stored, the thread that reads them must be running or woken.
            switch run.machine.state {
            case .inHandlers: check(run.machine.hasTimer, path, "nobody relieves the driver")
            case .running, .callerRuns: break
            default: check(run.machine.messages.isEmpty, path, "unread: \(run.machine.state)")
            }
            guard path.count < 5, faults.count < 10 else { return }
            for step in Step.allCases {
                var next = run
                let before = run.machine.state
                switch step {
                case .post, .postOwn:
                    if step == .postOwn, before != .running, before != .polling { continue }
                    let action = next.machine.post(run.posted, isDriver: step == .postOwn)
                    if action != .refuse { next.posted += 1 }
                    check((action == .refuse) == (before == .closed), path, "refused")
                case .postOnCaller:
                    let action = next.machine.post(run.posted, mayRunOnCaller: true)
                    if action != .refuse, action != .runOnCaller { next.posted += 1 }
                case .take:
                    guard [.running, .polling, .parked].contains(before) else { continue }
                    var taken: [Int] = []
                    _ = next.machine.take(into: &taken)
                    next.read += taken
                case .poll, .park, .release, .close:
                    guard before == .running else { continue }
                    let isGone =
                        switch step {
                        case .poll: next.machine.poll()
                        case .park: next.machine.park()
                        case .release: next.machine.release()
                        default: next.machine.close()
                        }
                    check(isGone == run.machine.messages.isEmpty, path, "left: \(step)")
                case .enterHandlers:
                    guard before == .running else { continue }
                    let entry = next.machine.enterHandlers()
                    check((entry == .refuse) == run.machine.hasRelieved, path, "entered handlers")
                case .returnFromHandlers:
                    guard before == .inHandlers || run.machine.hasRelieved else { continue }
                    let drives = next.machine.returnFromHandlers()
                    check(drives == (before == .inHandlers), path, "returned from handlers")
                case .relieve:
                    // The timer expires only while it is set.
                    guard run.machine.hasTimer else { continue }
                    let relief = next.machine.relieve()
                    check(relief != .drive || before == .inHandlers, path, "relieved")
                    let isSet = if case .setTimer = relief { true } else { false }
                    check(isSet == next.machine.hasTimer, path, "timer")
                case .returnIdle, .returnBusy:
                    guard case .callerRuns = before else { continue }
                    let action = next.machine.returnFromCaller(isIdle: step == .returnIdle)
                    let hasWork = step == .returnBusy || !run.machine.messages.isEmpty
                    check((action != .none) == hasWork, path, "returned: \(action)")
                }
                go(next, path + [step])
            }
        }
        go(Run(), [])
        #expect(faults == [])
    }
}

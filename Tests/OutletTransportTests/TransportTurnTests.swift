import Dispatch
import OutletTestSupport
import Testing

@testable import OutletTransport

@Suite struct `A turn of a transport` {
    private final class Work: TurnWork {
        private let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        func perform() { body() }
    }

    @Test func `resumptions run once, in order, and not before they are asked for`() {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        turn.resumeLater { calls.record(1) }
        turn.resumeLater { calls.record(2) }
        #expect(calls.values.isEmpty)
        turn.resumeTasks()
        #expect(calls.values == [1, 2])
        turn.resumeTasks()
        turn.end()
        #expect(calls.values == [1, 2])
    }

    @Test func `the end of a turn runs the resumptions that are left`() {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        turn.resumeLater { calls.record(1) }
        turn.end()
        #expect(calls.values == [1])
    }

    @Test func `a resumption that is added by another one runs at the next call`() {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        turn.resumeLater {
            calls.record(1)
            turn.resumeLater { calls.record(2) }
        }
        turn.resumeTasks()
        #expect(calls.values == [1])
        turn.resumeTasks()
        #expect(calls.values == [1, 2])
    }

    @Test func `work for a queue is submitted at the end of the turn, in order`() async {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        let queue = DispatchQueue(label: "turn")
        turn.perform(Work { calls.record(1) }, on: queue)
        turn.perform(Work { calls.record(2) }, on: queue)
        turn.resumeTasks()
        await queue.drained()
        #expect(calls.values.isEmpty)
        turn.end()
        await queue.drained()
        #expect(calls.values == [1, 2])
    }

    @Test func `work for a session's own queue is submitted unless the transport takes it`() async {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        let queue = DispatchQueue(label: "own")
        turn.perform(Work { calls.record(1) }, on: queue, isOwn: true)
        turn.end()
        await queue.drained()
        #expect(calls.values == [1])
        var work = TransportTurn.QueueWork()
        #expect(!turn.takeOwnWork(into: &work))
    }

    @Test func `all work for a session's own queue is submitted once, in order`() async {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        let queue = DispatchQueue(label: "own")
        for start in [0, 3] {
            for number in start..<(start + 3) {
                turn.perform(Work { calls.record(number) }, on: queue, isOwn: true)
            }
            turn.end()
            turn.end()
        }
        await queue.drained()
        #expect(calls.values == Array(0..<6))
    }

    @Test func `a turn outside of an event loop ends after its body, also inside of another one`()
        async
    {
        let calls = Recorder<Int>()
        let queue = DispatchQueue(label: "turn")
        for _ in 0..<2 {
            TransportTurn.run { turn in
                turn.resumeLater { calls.record(3) }
                TransportTurn.run { inner in
                    #expect(inner !== turn)
                    inner.resumeLater { calls.record(2) }
                    calls.record(1)
                }
                turn.perform(Work { calls.record(4) }, on: queue)
            }
            await queue.drained()
        }
        #expect(calls.values == [1, 2, 3, 4, 1, 2, 3, 4])
    }

    @Test func `work that the transport takes runs as its queue, and is not submitted again`() async
    {
        let turn = TransportTurn()
        let calls = Recorder<Int>()
        let (own, other) = (DispatchQueue(label: "own"), DispatchQueue(label: "other"))
        turn.perform(Work { calls.record(1) }, on: other)
        turn.perform(
            Work {
                dispatchPrecondition(condition: .onQueue(own))
                calls.record(2)
            }, on: own, isOwn: true)
        turn.perform(Work { calls.record(3) }, on: own, isOwn: true)
        var work = TransportTurn.QueueWork()
        #expect(turn.takeOwnWork(into: &work))
        work.run()
        #expect(calls.values == [2, 3])
        work.run()
        turn.end()
        await own.drained()
        await other.drained()
        #expect(calls.values == [2, 3, 1])
    }
}

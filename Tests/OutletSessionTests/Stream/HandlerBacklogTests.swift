import Testing

@testable import OutletSession

@Suite struct `The backlog of handlers` {
    @Test func `is full above the limit, until a quarter of the limit is left`() {
        var backlog = HandlerBacklog(limit: 100)
        backlog.add(50, handlers: 2, attempt: 1)
        #expect(!backlog.isFull)
        backlog.add(1, handlers: 1, attempt: 1)
        #expect(backlog.isFull)
        let above = backlog.remove(75, attempt: 1)
        #expect(!above && backlog.isFull)
        let below = backlog.remove(1, attempt: 1)
        #expect(below && !backlog.isFull)
        let again = backlog.remove(25, attempt: 1)
        #expect(!again)
    }

    @Test(arguments: [0, -100])
    func `with no or a negative limit, is full until all is processed`(limit: Int) {
        var backlog = HandlerBacklog(limit: limit)
        backlog.add(5, handlers: 1, attempt: 1)
        #expect(backlog.isFull)
        let some = backlog.remove(4, attempt: 1)
        #expect(!some && backlog.isFull)
        let all = backlog.remove(1, attempt: 1)
        #expect(all && !backlog.isFull)
    }

    @Test func `does not count the bytes of an attempt that is over`() {
        var backlog = HandlerBacklog(limit: 100)
        backlog.add(101, handlers: 1, attempt: 1)
        backlog.forget()
        let forgotten = backlog.remove(101, attempt: 1)
        #expect(!forgotten && !backlog.isFull)
        backlog.add(101, handlers: 1, attempt: 2)
        let late = backlog.remove(101, attempt: 1)
        #expect(!late && backlog.isFull)
        let current = backlog.remove(101, attempt: 2)
        #expect(current && !backlog.isFull)
    }
}

import Testing

@testable import OutletSession
@testable import OutletTransport

@Suite struct StreamPipeTests {
    /// Has a pipe without a queue, whose handler offers further items.
    private final class Owner: Sendable {
        let seen = Lock<[String]>([])
        let pipe: StreamPipe<Owner, String>

        init(further: [String: [String]] = [:]) {
            pipe = StreamPipe(on: nil) { owner, item in
                owner.seen.withLock { $0.append("begin \(item)") }
                for next in further[item] ?? [] { owner.pipe.offer(next, of: owner) }
                owner.seen.withLock { $0.append("end \(item)") }
            }
        }

        var all: [String] { seen.withLock { $0 } }
    }

    @Test func `items that a handler offers come after the one that it processes`() {
        let owner = Owner(further: ["a": ["b", "c"], "c": ["d"]])
        #expect(owner.pipe.offer("a", of: owner))
        #expect(owner.all == ["a", "b", "c", "d"].flatMap { ["begin \($0)", "end \($0)"] })
    }

    @Test func `items that were put before come before those that are offered`() {
        let owner = Owner()
        owner.pipe.put(["a", "b"], of: owner)
        #expect(owner.pipe.offer("c", of: owner))
        owner.pipe.letOut(2)
        #expect(owner.all == ["a", "b", "c"].flatMap { ["begin \($0)", "end \($0)"] })
    }

    @Test func `items after the last are refused`() {
        let owner = Owner()
        #expect(owner.pipe.offer("a", of: owner, isLast: true))
        #expect(!owner.pipe.offer("b", of: owner))
        #expect(owner.all == ["begin a", "end a"])
    }
}

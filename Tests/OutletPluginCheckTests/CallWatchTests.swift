import OutletPluginHost
import OutletTransport
import Testing

@testable import OutletPluginCheck

@Suite struct CallWatchTests {
    /// Counts the calls that it is passed.
    private final class Counter: PluginCallProbe {
        let begun = Lock([PluginHook: Int]())
        let ended = Lock([PluginHook: Int]())

        func willCall(_ plugin: String, _ hook: PluginHook) {
            begun.withLock { $0[hook, default: 0] += 1 }
        }

        func didCall(_ plugin: String, _ hook: PluginHook) {
            ended.withLock { $0[hook, default: 0] += 1 }
        }
    }

    @Test func `few of very many calls of one hook are measured, and all of others`() {
        let counter = Counter()
        let sampled = SampledCalls(counter)
        for number in 0..<100_000 {
            sampled.willCall("a", .streamMake)
            // Inside of the other call, as a hook that lets the host call another one.
            if number % 1000 == 0 {
                sampled.willCall("a", .cancel)
                sampled.didCall("a", .cancel)
            }
            sampled.didCall("a", .streamMake)
        }
        let (begun, ended) = (counter.begun.withLock { $0 }, counter.ended.withLock { $0 })
        #expect(begun == ended)
        #expect(begun[.cancel] == 100)
        #expect((200...2000).contains(begun[.streamMake] ?? 0))
    }
}

import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport
import Testing

@testable import OutletPluginHost

/// The handles of hooks that run on the calling thread, whose completions are made when a plugin
/// first uses them.
@Suite struct RunningHookTests {
    /// A plugin that never blocks, whose hooks may overlap, without `request_done`.
    private func quick() throws -> (host: PluginHost, instance: PluginInstance) {
        let host = try PluginFolder(faulty: "Wire").load()
        let plugin = host.plugins.first { $0.instance.isNonblocking && $0.instance.isConcurrent }
        return (host, try #require(plugin).instance)
    }

    private func subject(_ hook: PluginHook) -> RequestHook.Subject {
        .init(
            hook: hook, request: HTTPRequest(url: URL(string: "http://a.test/")),
            access: .answer, limit: 1_000_000_000)
    }

    private typealias Body = @Sendable (outlet_completion) -> outlet_status

    private func call(
        _ hook: PluginHook, of instance: PluginInstance, _ body: @escaping Body
    ) -> PluginInstance.Asked {
        instance.ask(subject(hook), settled: .done, .other { _, _, completion in body(completion) })
    }

    /// Calls `body` on another thread and waits for it.
    private static func onOtherThread<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) -> Value? {
        let result = Lock<Value?>(nil)
        let over = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            let value = body()
            result.withLock { $0 = value }
            over.signal()
        }
        _ = over.wait(timeout: .now() + .seconds(10))
        return result.withLock { $0 }
    }

    private static func request(_ completion: outlet_completion) -> RequestHandle? {
        HandleTable.shared.find(completion.request.id, as: RequestHandle.self)
    }

    @Test func `a hook whose handles are not used has no completion, and is counted`() throws {
        let (host, instance) = try quick()
        let asked = call(.adapt, of: instance) { _ in
            #expect(instance.owner.status.activeCalls == 1)
            #expect(instance.owner.activeCalls.map(\.hook) == [.adapt])
            return OUTLET_OK
        }
        guard case .given(.done, token: nil) = asked else {
            Issue.record("\(asked)")
            return
        }
        #expect(instance.owner.status.hooks["adapt"]?.calls == 1)
        #expect(instance.owner.status.activeCalls == 0)
        withExtendedLifetime(host) {}
    }

    @Test func `another thread that uses a handle first finds the object of the hook's own thread`()
        throws
    {
        let (host, instance) = try quick()
        let id = Lock<UInt64>(0)
        let asked = call(.adapt, of: instance) { completion in
            id.withLock { $0 = completion.id }
            let other = Self.onOtherThread { Self.request(completion) }
            #expect(other != nil)
            #expect(
                other?.map { ObjectIdentifier($0) }
                    == Self.request(completion).map { ObjectIdentifier($0) })
            #expect(HandleTable.shared.completion(of: completion.id + 4) == nil)
            return OUTLET_OK
        }
        guard case .given(.done, let token?) = asked else {
            Issue.record("\(asked)")
            return
        }
        #expect(token.id == id.withLock { $0 })
        #expect(HandleTable.shared.completion(of: token.id) == nil)
        withExtendedLifetime(host) {}
    }

    @Test func `a hook that only observes is bound to its thread, whichever thread uses it first`()
        throws
    {
        let (host, instance) = try quick()
        let table = TableAddress(try #require(HostTables.make(number: instance.owner.number)))
        _ = call(.didReceive, of: instance) { completion in
            #expect(Self.onOtherThread { table.readMethod(completion) } == OUTLET_E_THREAD)
            #expect(table.readMethod(completion) == OUTLET_OK)
            return OUTLET_OK
        }
        #expect(instance.owner.misbehaviour == [.wrongThread: 1])
        withExtendedLifetime(host) {}
    }

    @Test func `the handles of a hook that has ended are refused while another hook runs`() throws {
        let (host, instance) = try quick()
        let table = TableAddress(try #require(HostTables.make(number: instance.owner.number)))
        let former = Lock(outlet_completion())
        _ = call(.adapt, of: instance) { completion in
            former.withLock { $0 = completion }
            return OUTLET_OK
        }
        _ = call(.adapt, of: instance) { completion in
            #expect(table.readMethod(former.withLock { $0 }) == OUTLET_E_STALE)
            #expect(table.readMethod(completion) == OUTLET_OK)
            return OUTLET_OK
        }
        #expect(instance.owner.misbehaviour == [.staleHandle: 1])
        withExtendedLifetime(host) {}
    }

    @Test func `a hook whose handles were not used may answer later`() throws {
        let (host, instance) = try quick()
        guard case .follows(let token) = call(.adapt, of: instance, { _ in OUTLET_PENDING }) else {
            Issue.record("no pending answer")
            return
        }
        #expect(HandleTable.shared.completion(of: token.id) === token)
        #expect(instance.pendingCalls.map(\.hook) == [.adapt])
        #expect(token.settle(.done) == OUTLET_OK)
        #expect(token.settle(.done) == OUTLET_E_STALE)
        withExtendedLifetime(host) {}
    }

    @Test func `an error of a hook whose handles were not used has the text of its status`() throws
    {
        let (host, instance) = try quick()
        guard
            case .given(.failed(let error), _) = call(
                .adapt, of: instance, { _ in OUTLET_E_DENIED })
        else {
            Issue.record("no failure")
            return
        }
        #expect(error.kind == .failed && error.isRefusal)
        #expect(error.message == "denied, without a reason")
        withExtendedLifetime(host) {}
    }

    @Test func `calls may end in another order than they began`() {
        var calls = ActiveCalls()
        var first = ActiveCall(.adapt)
        var second = ActiveCall(.prepare)
        var third = ActiveCall(.retry)
        withUnsafeMutablePointer(to: &first) { first in
            withUnsafeMutablePointer(to: &second) { second in
                withUnsafeMutablePointer(to: &third) { third in
                    for call in [first, second, third] { calls.begin(call, of: 1) }
                    #expect(Set(calls.all(of: "a").map(\.hook)) == [.adapt, .prepare, .retry])
                    calls.end(second, at: 0)
                    #expect(Set(calls.all(of: "a").map(\.hook)) == [.adapt, .retry])
                    calls.end(first, at: 0)
                    #expect(calls.all(of: "a").map(\.hook) == [.retry])
                    calls.end(third, at: 0)
                    #expect(calls.all(of: "a").isEmpty && calls.count == 0)
                }
            }
        }
        #expect(Set(calls.totals.map(\.hook)) == [.adapt, .prepare, .retry])
    }

    @Test func `the totals of each hook are those of its calls`() {
        var calls = ActiveCalls()
        for (number, hook) in PluginHook.allCases.enumerated() where hook != .events {
            for duration in [UInt64(number), 1000] {
                var call = ActiveCall(hook)
                withUnsafeMutablePointer(to: &call) { call in
                    calls.begin(call, of: 1)
                    calls.end(call, at: call.pointee.start + duration)
                }
            }
        }
        let totals = Dictionary(uniqueKeysWithValues: calls.totals.map { ($0.hook, $0.total) })
        #expect(totals.count == PluginHook.allCases.count - 1 && totals[.events] == nil)
        for (number, hook) in PluginHook.allCases.enumerated() where hook != .events {
            let total = PluginStatus.Hook(
                calls: 2, duration: UInt64(number) + 1000, longest: 1000)
            #expect(totals[hook] == total)
        }
    }
}

/// A host table that closures may capture.
private struct TableAddress: @unchecked Sendable {
    // @unchecked because the table is read-only.
    private let table: UnsafePointer<outlet_host>

    init(_ table: UnsafePointer<outlet_host>) { self.table = table }

    func readMethod(_ completion: outlet_completion) -> outlet_status {
        var view = outlet_view()
        return table.pointee.request_method(table, completion.request, &view)
    }
}

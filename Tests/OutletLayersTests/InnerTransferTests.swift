import FoundationEssentials
import OutletHTTP
import OutletTransport
import Testing

@testable import OutletLayers

/// The transfer inside a task, and calls on the task while the transfer starts.
@Suite struct InnerTransferTests {
    /// Records suspend and resume; calls `before` once, before the first of them takes effect.
    private final class FakeTask: TransferTask {
        private struct State: Sendable {
            var isSuspended: Bool
            var before: (@Sendable () -> Void)?
        }
        private let current: Lock<State>

        init(isSuspended: Bool = false, before: (@Sendable () -> Void)? = nil) {
            current = Lock(State(isSuspended: isSuspended, before: before))
        }

        let identifier: UInt64 = 1
        let currentRequest: HTTPRequest? = nil
        var state: TransferState { isSuspended ? .suspended : .running }
        var isSuspended: Bool { current.withLock { $0.isSuspended } }
        func cancel() {}
        func suspend() { notify(true) }
        func resume() { notify(false) }

        private func notify(_ isSuspended: Bool) {
            current.withLock { $0.before.take() }?()
            current.withLock { $0.isSuspended = isSuspended }
        }
    }

    private let inner = InnerTransfer(
        HTTPRequest(url: URL(string: "http://a.test/")), reportsProgress: false)

    @Test func `a transfer that starts suspended runs if it is resumed during its start`() {
        let task = FakeTask(isSuspended: true)
        inner.suspend()
        let isBegun = inner.begin { wishes in
            #expect(wishes.isSuspended)
            inner.resume()
            return task
        }
        #expect(isBegun && !task.isSuspended)
    }

    @Test func `a transfer that ends before its start returns does not replace the next one`() {
        let (first, second) = (FakeTask(), FakeTask())
        _ = inner.begin { _ in
            inner.end(first)
            _ = inner.begin { _ in second }
            return first
        }
        inner.suspend()
        #expect(second.isSuspended && !first.isSuspended)
    }

    @Test func `a transfer that is suspended during its start stays suspended until resume`() {
        let task = FakeTask()
        _ = inner.begin { _ in
            inner.suspend()
            return task
        }
        #expect(task.isSuspended)
        inner.resume()
        #expect(!task.isSuspended)
    }

    @Test func `a suspend that is overtaken by a resume has no effect`() {
        let task = FakeTask(before: { [inner] in inner.resume() })
        _ = inner.begin { _ in task }
        inner.suspend()
        #expect(!task.isSuspended)
    }

    @Test func `a resume that is overtaken by a suspend has no effect`() {
        let task = FakeTask(before: { [inner] in inner.suspend() })
        _ = inner.begin { _ in task }
        inner.resume()
        #expect(task.isSuspended)
    }
}

import OutletHTTP
import OutletTransport
import Testing

@testable import OutletLayers

/// The transfer inside of a task, and what is asked of the task while it begins.
@Suite struct InnerTransferTests {
    /// Notes what is asked of it; asks back before it does what it was asked first.
    private final class Told: TransferTask {
        private struct State: Sendable {
            var isSuspended: Bool
            var before: (@Sendable () -> Void)?
        }
        private let told: Lock<State>

        init(isSuspended: Bool = false, before: (@Sendable () -> Void)? = nil) {
            told = Lock(State(isSuspended: isSuspended, before: before))
        }

        let identifier: UInt64 = 1
        let currentRequest: HTTPRequest? = nil
        var state: TransferState { isSuspended ? .suspended : .running }
        var isSuspended: Bool { told.withLock { $0.isSuspended } }
        func cancel() {}
        func suspend() { notify(true) }
        func resume() { notify(false) }

        private func notify(_ isSuspended: Bool) {
            told.withLock { $0.before.take() }?()
            told.withLock { $0.isSuspended = isSuspended }
        }
    }

    private let inner = InnerTransfer(reportsProgress: false)

    @Test func `one that begins suspended goes on when it was resumed meanwhile`() {
        let task = Told(isSuspended: true)
        inner.suspend()
        let isBegun = inner.begin { wishes in
            #expect(wishes.isSuspended)
            inner.resume()
            return task
        }
        #expect(isBegun && !task.isSuspended)
    }

    @Test func `one that is over before its start returns does not stand for the next one`() {
        let (first, second) = (Told(), Told())
        _ = inner.begin { _ in
            inner.end()
            _ = inner.begin { _ in second }
            return first
        }
        inner.suspend()
        #expect(second.isSuspended && !first.isSuspended)
    }

    @Test func `one that is suspended while it begins waits`() {
        let task = Told()
        _ = inner.begin { _ in
            inner.suspend()
            return task
        }
        #expect(task.isSuspended)
        inner.resume()
        #expect(!task.isSuspended)
    }

    @Test func `a suspend that comes late, behind what took it back, holds nothing`() {
        let task = Told(before: { [inner] in inner.resume() })
        _ = inner.begin { _ in task }
        inner.suspend()
        #expect(!task.isSuspended)
    }

    @Test func `a resume that comes late, behind what took it back, starts nothing`() {
        let task = Told(before: { [inner] in inner.suspend() })
        _ = inner.begin { _ in task }
        inner.resume()
        #expect(task.isSuspended)
    }
}

import OutletTransport

/// A message to a loop.
enum LoopMessage {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case suspend(CurlTransfer)
    case resume(CurlTransfer)
    case reportProgress(CurlTransfer)
    /// The observer of the body lets the transfer continue, or fails it with the error.
    case observed(CurlTransfer, TransferError?)
    /// The stream of the request's body has more data.
    case bodyReady(CurlTransfer)
    /// A WebSocket operation.
    case order(WebSocketOrder)
    /// A job of a Swift task that runs on the loop's thread.
    case run(UnownedJob)
    /// Ends the loop when its last transfer has ended; no transfers are posted afterwards.
    case drain
    /// Ends all transfers with the error, then the loop.
    case shutDown(TransferError)

    /// Whether it is a WebSocket operation.
    var isOrder: Bool { if case .order = self { true } else { false } }
}

/// The messages from any thread to a loop; the driver takes them in batches.
///
/// A sender wakes the driver only if it waits, so a burst of a thousand requests costs one wake. A
/// sender to a loop without a driver has to provide one. The submitting thread may drive a loop
/// that has nothing to do. ``MailboxMachine`` documents the states.
///
/// Thread: any for ``post(_:isDriver:mayRunOnCaller:)``; the standby thread's for ``relieve()``; the
/// driver's for all others.
final class Mailbox: Sendable {
    typealias Action = MailboxMachine<LoopMessage>.Action

    private let machine = Lock(MailboxMachine<LoopMessage>())

    /// Adds a message, see ``MailboxMachine/post(_:isDriver:mayRunOnCaller:)``.
    func post(
        _ message: LoopMessage, isDriver: Bool = false, mayRunOnCaller: Bool = false
    ) -> Action {
        machine.withLock {
            $0.post(message, isDriver: isDriver, mayRunOnCaller: mayRunOnCaller)
        }
    }

    /// Ends a caller's run, see ``MailboxMachine/returnFromCaller(isIdle:)``.
    func returnFromCaller(isIdle: Bool) -> Action {
        machine.withLock { $0.returnFromCaller(isIdle: isIdle) }
    }

    /// Takes all messages, see ``MailboxMachine/take(into:)``.
    func take(into messages: inout [LoopMessage]) -> Bool {
        machine.withLock { $0.take(into: &messages) }
    }

    /// Before a wait for sockets, see ``MailboxMachine/poll()``.
    func poll() -> Bool { machine.withLock { $0.poll() } }

    /// Before a wait for ``Action/unpark``, see ``MailboxMachine/park()``.
    func park() -> Bool { machine.withLock { $0.park() } }

    /// Before the driver leaves, see ``MailboxMachine/release()``.
    func release() -> Bool { machine.withLock { $0.release() } }

    /// Before handlers are run, see ``MailboxMachine/enterHandlers()``.
    func enterHandlers() -> MailboxMachine<LoopMessage>.Entry {
        machine.withLock { $0.enterHandlers() }
    }

    /// After an entry whose timer could not be set, see ``MailboxMachine/loseTimer()``.
    func loseTimer() { machine.withLock { $0.loseTimer() } }

    /// After handlers were run, see ``MailboxMachine/returnFromHandlers()``.
    func returnFromHandlers() -> Bool { machine.withLock { $0.returnFromHandlers() } }

    /// When the timer of the standby thread has expired, see ``MailboxMachine/relieve()``.
    func relieve() -> MailboxMachine<LoopMessage>.Relief { machine.withLock { $0.relieve() } }

    /// Before the loop ends, see ``MailboxMachine/close()``.
    func close() -> Bool { machine.withLock { $0.close() } }
}

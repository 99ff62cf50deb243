import OutletTransport

/// What other threads ask of a loop.
enum LoopMessage {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case suspend(CurlTransfer)
    case resume(CurlTransfer)
    case reportProgress(CurlTransfer)
    /// Who observes the body has made up its mind: the transfer goes on, or fails.
    case observed(CurlTransfer, TransferError?)
    /// More of the request's body has been made.
    case bodyReady(CurlTransfer)
    /// Something to do with a WebSocket.
    case order(WebSocketOrder)
    /// A piece of a Swift task wants to run on the loop's thread.
    case run(UnownedJob)
    /// No more will come; the loop ends when it has nothing left to do.
    case drain
    /// All transfers end now, with that error, then the loop does.
    case shutDown(TransferError)
}

/// The way into a loop: messages from any thread, taken in batches by the one that drives it.
///
/// The sender of a message wakes the driver only when it waits, so that a burst of a thousand
/// requests costs one wake. A sender of a message to a loop without a driver has to find one. A loop
/// that has nothing to do may be driven by the submitting thread (``MailboxMachine`` has the states).
///
/// Thread: any for ``post(_:isDriver:mayRunOnCaller:)``; the driver's for all others.
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

    /// Before the loop ends, see ``MailboxMachine/close()``.
    func close() -> Bool { machine.withLock { $0.close() } }
}

internal import Glibc

/// Runs `body` on a thread of its own, for calls that block; the thread ends with it.
///
/// - Throws: ``TestSupportError`` if the system gives no thread.
public func onOwnThread(_ body: @escaping @Sendable () -> Void) throws {
    final class Body {
        let run: @Sendable () -> Void
        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
    let context = Unmanaged.passRetained(Body(run: body))
    var thread = pthread_t()
    let result = pthread_create(
        &thread, nil,
        { context in
            // Writing to a peer that is gone is an error to read, not a signal to die of.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }, context.toOpaque())
    guard result == 0 else {
        context.release()
        throw TestSupportError("thread: not started", errno: result)
    }
    pthread_detach(thread)
}

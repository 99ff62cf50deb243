internal import Glibc

/// Runs `body` on a new thread, for calls that block; returns without waiting for it.
///
/// - Throws: ``TestSupportError`` if no thread can be started.
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
            // Writing to a closed pipe then fails with EPIPE instead of killing the process.
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

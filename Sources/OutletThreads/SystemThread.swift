internal import CThread
internal import Glibc
internal import OutletPointers

/// Starts threads of the operating system.
package enum SystemThread {
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Starts a detached thread, which gets no signals that are sent to the process.
    ///
    /// - Parameters:
    ///   - name: The thread's name, of at most 15 bytes.
    ///   - body: Called once, on the thread.
    /// - Returns: 0, or the error of `pthread_create`; `body` is not called then.
    package static func start(
        named name: String, _ body: @escaping @Sendable () -> Void
    ) -> Int32 {
        let start = ObjectPointer.retained(Start(name, body))
        let code = cthread_start(
            { argument in
                guard let argument else { return nil }
                cthread_run(
                    {
                        let start = ObjectPointer.takeRetained($0, as: Start.self)
                        cthread_prepare(start.name)
                        start.body()
                    }, argument)
                return nil
            }, start)
        if code != 0 { ObjectPointer.release(start) }
        return code
    }
}

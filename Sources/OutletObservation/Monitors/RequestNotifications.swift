public import Dispatch
public import OutletTransport
public import OutletSession

/// A monitor that posts a notification when requests resume, suspend, cancel and finish.
///
/// Pass it to a session among its event monitors, keep a reference, and add observers at any time.
///
/// Thread: any.
public final class RequestNotifications: EventMonitor {
    /// The event of a notification.
    public enum Name: String, Sendable, CaseIterable {
        /// A request was resumed.
        case didResume
        /// A request was suspended.
        case didSuspend
        /// A request was cancelled.
        case didCancel
        /// A request has ended; its response is serialized next.
        case didFinish
        /// A transfer was resumed.
        case didResumeTask
        /// A transfer was suspended.
        case didSuspendTask
        /// A transfer was cancelled.
        case didCancelTask
        /// A transfer succeeded or failed.
        case didCompleteTask
    }

    /// An event, with its request and its transfer.
    public struct Notification: Sendable {
        /// The event.
        public let name: Name
        /// The request.
        public let request: Request
        /// The transfer; `nil` for events of the request.
        public let task: (any TransferTask)?
    }

    /// The registration of an observer; ends when it is cancelled or released.
    public final class Observation: Sendable {
        private let end: @Sendable () -> Void

        fileprivate init(end: @escaping @Sendable () -> Void) {
            self.end = end
        }

        deinit { end() }

        /// Removes the observer; does not wait for a call that is running.
        ///
        /// Thread: any. May be called again.
        public func cancel() { end() }
    }

    private struct Observers: Sendable {
        var last = 0
        var all: [Int: @Sendable (Notification) -> Void] = [:]
    }
    private let observers = Lock(Observers())

    /// The queue on which observers are called.
    public let queue: DispatchQueue

    /// Makes a monitor without observers.
    ///
    /// - Parameter queue: The queue on which observers are called; must be serial. By default the
    ///   callback queue of the session that uses the monitor.
    public init(queue: DispatchQueue = .sessionCallbacks) {
        self.queue = queue
    }

    /// Adds an observer of the notifications with certain names.
    ///
    /// - Parameters:
    ///   - names: The names of the notifications; all by default.
    ///   - observer: Called on ``queue``, one notification at a time.
    /// - Returns: The registration; keep it, because the observer is removed when it is released.
    public func observe(
        _ names: Set<Name> = Set(Name.allCases),
        using observer: @escaping @Sendable (Notification) -> Void
    ) -> Observation {
        let key = observers.withLock { observers in
            observers.last += 1
            observers.all[observers.last] = { if names.contains($0.name) { observer($0) } }
            return observers.last
        }
        return Observation { [weak self] in
            // The closure is released outside the lock.
            _ = self?.observers.withLock { $0.all.removeValue(forKey: key) }
        }
    }

    /// Returns a sequence of the notifications with certain names that are posted after this call.
    ///
    /// The sequence does not end by itself; leave the loop or cancel its task.
    ///
    /// - Parameters:
    ///   - names: The names of the notifications; all by default.
    ///   - bufferingPolicy: How many notifications are buffered for a slow loop; all by default.
    public func notifications(
        _ names: Set<Name> = Set(Name.allCases),
        bufferingPolicy: AsyncStream<Notification>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Notification> {
        AsyncStream(bufferingPolicy: bufferingPolicy) { continuation in
            let observation = observe(names) { continuation.yield($0) }
            continuation.onTermination = { _ in observation.cancel() }
        }
    }

    private func post(_ name: Name, _ request: Request, _ task: (any TransferTask)? = nil) {
        let all = observers.withLock { $0.all }
        guard !all.isEmpty else { return }
        let notification = Notification(name: name, request: request, task: task)
        for (_, observer) in all.sorted(by: { $0.key < $1.key }) { observer(notification) }
    }

    /// Posts ``Name/didResume``.
    ///
    /// - Parameter request: The request.
    public func requestDidResume(_ request: Request) { post(.didResume, request) }
    /// Posts ``Name/didSuspend``.
    ///
    /// - Parameter request: The request.
    public func requestDidSuspend(_ request: Request) { post(.didSuspend, request) }
    /// Posts ``Name/didCancel``.
    ///
    /// - Parameter request: The request.
    public func requestDidCancel(_ request: Request) { post(.didCancel, request) }
    /// Posts ``Name/didFinish``.
    ///
    /// - Parameter request: The request.
    public func requestDidFinish(_ request: Request) { post(.didFinish, request) }
    /// Posts ``Name/didResumeTask``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    public func request(_ request: Request, didResumeTask task: any TransferTask) {
        post(.didResumeTask, request, task)
    }
    /// Posts ``Name/didSuspendTask``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    public func request(_ request: Request, didSuspendTask task: any TransferTask) {
        post(.didSuspendTask, request, task)
    }
    /// Posts ``Name/didCancelTask``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    public func request(_ request: Request, didCancelTask task: any TransferTask) {
        post(.didCancelTask, request, task)
    }
    /// Posts ``Name/didCompleteTask``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - error: Its error; `nil` if it succeeded.
    public func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?
    ) { post(.didCompleteTask, request, task) }
}

extension Request {
    /// A request was resumed.
    public static let didResumeNotification = RequestNotifications.Name.didResume
    /// A request was suspended.
    public static let didSuspendNotification = RequestNotifications.Name.didSuspend
    /// A request was cancelled.
    public static let didCancelNotification = RequestNotifications.Name.didCancel
    /// A request has ended; its response is serialized next.
    public static let didFinishNotification = RequestNotifications.Name.didFinish
    /// A transfer was resumed.
    public static let didResumeTaskNotification = RequestNotifications.Name.didResumeTask
    /// A transfer was suspended.
    public static let didSuspendTaskNotification = RequestNotifications.Name.didSuspendTask
    /// A transfer was cancelled.
    public static let didCancelTaskNotification = RequestNotifications.Name.didCancelTask
    /// A transfer succeeded or failed.
    public static let didCompleteTaskNotification = RequestNotifications.Name.didCompleteTask
}

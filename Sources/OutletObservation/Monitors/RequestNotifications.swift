public import Dispatch
public import OutletTransport
public import OutletSession

/// A monitor that posts a notification when requests resume, suspend, cancel and finish.
///
/// Pass it to a session among its event monitors, keep it, and add observers at any time.
///
/// Thread: any.
public final class RequestNotifications: EventMonitor {
    /// What has happened.
    public enum Name: String, Sendable, CaseIterable {
        /// A request was resumed.
        case didResume
        /// A request was suspended.
        case didSuspend
        /// A request was cancelled.
        case didCancel
        /// A request is over.
        case didFinish
        /// A transfer was resumed.
        case didResumeTask
        /// A transfer was suspended.
        case didSuspendTask
        /// A transfer was cancelled.
        case didCancelTask
        /// A transfer ended, well or not.
        case didCompleteTask
    }

    /// What has happened, and to whom.
    public struct Notification: Sendable {
        /// What has happened.
        public let name: Name
        /// The request.
        public let request: Request
        /// The transfer, for names that speak of one.
        public let task: (any TransferTask)?
    }

    /// Ends an observation when it is cancelled or released.
    public final class Observation: Sendable {
        private let end: @Sendable () -> Void

        fileprivate init(end: @escaping @Sendable () -> Void) {
            self.end = end
        }

        deinit { end() }

        /// Calls the observer no more; calls under way are not waited for.
        public func cancel() { end() }
    }

    private struct Observers: Sendable {
        var last = 0
        var all: [Int: @Sendable (Notification) -> Void] = [:]
    }
    private let observers = Lock(Observers())

    /// Where observers are called.
    public let queue: DispatchQueue

    /// Makes notifications without observers.
    public init(queue: DispatchQueue = .sessionCallbacks) {
        self.queue = queue
    }

    /// Calls a closure at each notification of those names.
    ///
    /// - Parameters:
    ///   - names: What to tell; everything by default.
    ///   - observer: Called on ``queue``, one notification after the other.
    /// - Returns: The observation; it ends when this is let go.
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
            // The closure is freed outside the lock.
            _ = self?.observers.withLock { $0.all.removeValue(forKey: key) }
        }
    }

    /// The notifications of those names from now on, without end.
    ///
    /// - Parameters:
    ///   - names: What to tell; everything by default.
    ///   - bufferingPolicy: What is kept for a slow reader.
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

    /// Notifies.
    public func requestDidResume(_ request: Request) { post(.didResume, request) }
    /// Notifies.
    public func requestDidSuspend(_ request: Request) { post(.didSuspend, request) }
    /// Notifies.
    public func requestDidCancel(_ request: Request) { post(.didCancel, request) }
    /// Notifies.
    public func requestDidFinish(_ request: Request) { post(.didFinish, request) }
    /// Notifies.
    public func request(_ request: Request, didResumeTask task: any TransferTask) {
        post(.didResumeTask, request, task)
    }
    /// Notifies.
    public func request(_ request: Request, didSuspendTask task: any TransferTask) {
        post(.didSuspendTask, request, task)
    }
    /// Notifies.
    public func request(_ request: Request, didCancelTask task: any TransferTask) {
        post(.didCancelTask, request, task)
    }
    /// Notifies.
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
    /// A request is over.
    public static let didFinishNotification = RequestNotifications.Name.didFinish
    /// A transfer was resumed.
    public static let didResumeTaskNotification = RequestNotifications.Name.didResumeTask
    /// A transfer was suspended.
    public static let didSuspendTaskNotification = RequestNotifications.Name.didSuspendTask
    /// A transfer was cancelled.
    public static let didCancelTaskNotification = RequestNotifications.Name.didCancelTask
    /// A transfer ended, well or not.
    public static let didCompleteTaskNotification = RequestNotifications.Name.didCompleteTask
}

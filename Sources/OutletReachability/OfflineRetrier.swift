public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletSession
public import OutletTransport

/// Retries requests that failed because there was no network, as soon as there is one.
///
/// A failed request waits until the ``NetworkPath`` is not unsatisfied, and is then retried. If the
/// path was there all the time, its first retry follows at once and the next ones after 0.5, 1, 2
/// seconds and so on. All waiting requests share one monitor.
///
/// Thread: any.
public final class OfflineRetrier: RequestInterceptor {
    /// The default of `maximumWait`: five seconds.
    public static let defaultWait = DispatchTimeInterval.seconds(5)
    /// The codes of errors that mean that there is no network.
    public static let defaultURLErrorOfflineCodes: Set<TransferError.Code> = [
        .notConnectedToInternet
    ]
    /// Returns whether an error is, or contains, a transfer error with one of
    /// ``defaultURLErrorOfflineCodes``.
    public static let defaultIsOfflineError: @Sendable (_ error: any Error) -> Bool = { error in
        transferCode(of: error).map { defaultURLErrorOfflineCodes.contains($0) } ?? false
    }
    /// The codes of errors that a missing network may have caused.
    ///
    /// Requests with such an error are retried only if the path was unsatisfied while they waited.
    public static let suspectCodes: Set<TransferError.Code> = [.cannotFindHost, .dnsLookupFailed]

    /// The maximum number of retries of a request, by any retrier.
    public let retryLimit: UInt
    private let monitor: PathMonitor
    private let maximumWait: TimeInterval
    private let isOfflineError: @Sendable (_ error: any Error) -> Bool
    private let deadlines = Deadlines()
    /// Serialises the calls of the monitor, and receives its paths.
    private let queue = DispatchQueue(label: "outlet.OfflineRetrier")

    private struct Waiting: Sendable {
        let retryCount: Int
        /// Whether the error has one of ``suspectCodes``.
        let isSuspect: Bool
        let deadline: Deadlines.Token
        let completion: @Sendable (RetryResult) -> Void
    }
    private struct State: Sendable {
        var waiting: [Int: Waiting] = [:]
        var lastKey = 0
        var isMonitoring = false
        /// Whether the path was unsatisfied since the monitor was started.
        var hasBeenOffline = false
    }
    private let state = Lock(State())

    /// Makes a retrier.
    ///
    /// - Parameters:
    ///   - monitor: Provides the network path; by default that of the kernel.
    ///   - maximumWait: How long a request waits for a network before it fails with its error; five
    ///     seconds by default, `.never` for no limit.
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - isOfflineError: Returns whether an error means that there is no network. Called on any
    ///     thread, once for each failed attempt.
    public init(
        monitor: PathMonitor = .system, maximumWait: DispatchTimeInterval = defaultWait,
        retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (_ error: any Error) -> Bool = defaultIsOfflineError
    ) {
        self.monitor = monitor
        self.maximumWait = maximumWait.seconds
        self.retryLimit = retryLimit
        self.isOfflineError = isOfflineError
    }

    /// Makes a retrier that waits for a network over one type of interface.
    ///
    /// - Parameters:
    ///   - requiredInterfaceType: The type of interface to wait for.
    ///   - maximumWait: How long a request waits before it fails with its error; five seconds by
    ///     default, `.never` for no limit.
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - isOfflineError: Returns whether an error means that there is no network.
    public convenience init(
        requiredInterfaceType: NetworkPath.InterfaceType,
        maximumWait: DispatchTimeInterval = defaultWait, retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (_ error: any Error) -> Bool = defaultIsOfflineError
    ) {
        self.init(
            monitor: PathMonitor.system.restricted { $0 == requiredInterfaceType },
            maximumWait: maximumWait, retryLimit: retryLimit, isOfflineError: isOfflineError)
    }

    /// Makes a retrier that waits for a network over an interface of any type except some.
    ///
    /// - Parameters:
    ///   - prohibitedInterfaceTypes: The types of interfaces to ignore.
    ///   - maximumWait: How long a request waits before it fails with its error; five seconds by
    ///     default, `.never` for no limit.
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - isOfflineError: Returns whether an error means that there is no network.
    public convenience init(
        prohibitedInterfaceTypes: [NetworkPath.InterfaceType],
        maximumWait: DispatchTimeInterval = defaultWait, retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (_ error: any Error) -> Bool = defaultIsOfflineError
    ) {
        self.init(
            monitor: PathMonitor.system.restricted { !prohibitedInterfaceTypes.contains($0) },
            maximumWait: maximumWait, retryLimit: retryLimit, isOfflineError: isOfflineError)
    }

    deinit {
        let (waiting, isMonitoring) = state.withLock { ($0.waiting.values, $0.isMonitoring) }
        if isMonitoring { monitor.stop() }
        for waiting in waiting {
            deadlines.remove(waiting.deadline)
            waiting.completion(.doNotRetry)
        }
    }

    /// 0: the session sets no time limit, because `maximumWait` limits the wait.
    public var answerTimeout: TimeInterval? { 0 }

    /// Returns the request unchanged.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Not used.
    ///   - completion: Called once with `request`, before this returns.
    public func adapt(
        _ request: HTTPRequest, for session: Session,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) { completion(.success(request)) }

    /// Waits for a network if the error means, or may mean, that there was none.
    ///
    /// Any other error, and one after ``retryLimit`` retries, is not retried.
    ///
    /// - Parameters:
    ///   - request: The failed request; its `retryCount` is compared with ``retryLimit``.
    ///   - session: Not used.
    ///   - error: Why the attempt failed.
    ///   - completion: Called once: with `doNotRetry` before this returns if the request is not to
    ///     wait, otherwise on the retrier's queue, when there is a network or `maximumWait` has
    ///     passed, or where the retrier is released.
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        let isOffline = isOfflineError(error)
        let code = Self.transferCode(of: error)
        let isSuspect = !isOffline && code.map { Self.suspectCodes.contains($0) } == true
        let retryCount = request.retryCount
        guard isOffline || isSuspect, retryCount < retryLimit else {
            completion(.doNotRetry)
            return
        }
        if isOffline { request.notifyWaitingForConnectivity() }
        queue.async {
            self.wait(retryCount: retryCount, isSuspect: isSuspect, completion: completion)
        }
    }

    // MARK: On the queue

    private func wait(
        retryCount: Int, isSuspect: Bool, completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        let key = state.withLock { state in
            state.lastKey += 1
            return state.lastKey
        }
        let deadline = deadlines.add(after: maximumWait) { [weak self] in
            guard let self else { return }
            queue.async { self.giveUp(key) }
        }
        let starts = state.withLock { state in
            state.waiting[key] = Waiting(
                retryCount: retryCount, isSuspect: isSuspect, deadline: deadline,
                completion: completion)
            defer { state.isMonitoring = true }
            if !state.isMonitoring { state.hasBeenOffline = false }
            return !state.isMonitoring
        }
        guard starts else { return }
        monitor.start(queue) { [weak self] path in self?.update(path) }
    }

    private func update(_ path: NetworkPath) {
        let (released, hasBeenOffline) = state.withLock { state -> ([Waiting], Bool) in
            guard path.status != .unsatisfied, state.isMonitoring else {
                state.hasBeenOffline = true
                return ([], true)
            }
            defer {
                state.waiting = [:]
                state.isMonitoring = false
            }
            return (
                state.waiting.sorted { $0.key < $1.key }.map(\.value), state.hasBeenOffline
            )
        }
        guard !released.isEmpty else { return }
        monitor.stop()
        for waiting in released {
            deadlines.remove(waiting.deadline)
            waiting.completion(verdict(waiting, hasBeenOffline: hasBeenOffline))
        }
    }

    private func verdict(_ waiting: Waiting, hasBeenOffline: Bool) -> RetryResult {
        if hasBeenOffline { return .retry }
        if waiting.isSuspect { return .doNotRetry }
        // The path was there all the time: only the first retry follows at once.
        return waiting.retryCount == 0
            ? .retry : .retryWithDelay(Double(1 << min(waiting.retryCount, 16)) / 4)
    }

    private func giveUp(_ key: Int) {
        let (waiting, stops) = state.withLock { state in
            let waiting = state.waiting.removeValue(forKey: key)
            let stops = state.isMonitoring && state.waiting.isEmpty
            if stops { state.isMonitoring = false }
            return (waiting, stops)
        }
        if stops { monitor.stop() }
        waiting?.completion(.doNotRetry)
    }

    private static func transferCode(of error: any Error) -> TransferError.Code? {
        (error as? TransferError ?? error.asSessionError?.transferError)?.code
    }
}

extension OfflineRetrier: IdleAdapter {
    package var adaptsNothing: Bool { true }
}

extension DispatchTimeInterval {
    /// The interval in seconds; a hundred years for `never`.
    fileprivate var seconds: TimeInterval {
        switch self {
        case .seconds(let value): TimeInterval(value)
        case .milliseconds(let value): TimeInterval(value) / 1_000
        case .microseconds(let value): TimeInterval(value) / 1_000_000
        case .nanoseconds(let value): TimeInterval(value) / 1_000_000_000
        case .never: 3_155_760_000
        @unknown default: 3_155_760_000
        }
    }
}

extension RequestInterceptor where Self == OfflineRetrier {
    /// Returns a retrier that waits for a network.
    ///
    /// - Parameters:
    ///   - monitor: Provides the network path; by default that of the kernel.
    ///   - maximumWait: How long a request waits before it fails with its error; five seconds by
    ///     default, `.never` for no limit.
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - isOfflineError: Returns whether an error means that there is no network.
    public static func offlineRetrier(
        monitor: PathMonitor = .system,
        maximumWait: DispatchTimeInterval = OfflineRetrier.defaultWait, retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (_ error: any Error) -> Bool =
            OfflineRetrier.defaultIsOfflineError
    ) -> OfflineRetrier {
        OfflineRetrier(
            monitor: monitor, maximumWait: maximumWait, retryLimit: retryLimit,
            isOfflineError: isOfflineError)
    }

    /// Returns a retrier that waits for a network over one type of interface.
    ///
    /// - Parameters:
    ///   - requiredInterfaceType: The type of interface to wait for.
    ///   - maximumWait: How long a request waits before it fails with its error; five seconds by
    ///     default, `.never` for no limit.
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - isOfflineError: Returns whether an error means that there is no network.
    public static func offlineRetrier(
        requiredInterfaceType: NetworkPath.InterfaceType,
        maximumWait: DispatchTimeInterval = OfflineRetrier.defaultWait, retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (_ error: any Error) -> Bool =
            OfflineRetrier.defaultIsOfflineError
    ) -> OfflineRetrier {
        OfflineRetrier(
            requiredInterfaceType: requiredInterfaceType, maximumWait: maximumWait,
            retryLimit: retryLimit, isOfflineError: isOfflineError)
    }

    /// Returns a retrier that waits for a network over an interface of any type except some.
    ///
    /// - Parameters:
    ///   - prohibitedInterfaceTypes: The types of interfaces to ignore.
    ///   - maximumWait: How long a request waits before it fails with its error; five seconds by
    ///     default, `.never` for no limit.
    ///   - retryLimit: The maximum number of retries of a request.
    ///   - isOfflineError: Returns whether an error means that there is no network.
    public static func offlineRetrier(
        prohibitedInterfaceTypes: [NetworkPath.InterfaceType],
        maximumWait: DispatchTimeInterval = OfflineRetrier.defaultWait, retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (_ error: any Error) -> Bool =
            OfflineRetrier.defaultIsOfflineError
    ) -> OfflineRetrier {
        OfflineRetrier(
            prohibitedInterfaceTypes: prohibitedInterfaceTypes, maximumWait: maximumWait,
            retryLimit: retryLimit, isOfflineError: isOfflineError)
    }
}

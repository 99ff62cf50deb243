import Dispatch
import FoundationEssentials
import OutletHTTP
public import OutletTransport

/// A transport built on libcurl: HTTP/1.1 and HTTP/2, TLS, proxies, Unix sockets.
///
/// Transfers run on an event loop thread that the transport starts with the first transfer.
/// Transfers that read a body from, or write one to, a file or a stream run on a second loop
/// thread, so that a slow disk does not delay the others.
///
/// When the last reference to a transport is released, its running transfers continue to their end.
/// ``shutDown()`` cancels them, and ``shutDown(deadline:)`` waits for them.
public final class CurlTransport: Transport {
    private let settings: TransportSettings
    private let loops: Lock<LoopGroup>

    /// Makes a transport; opens no connection and starts no thread before the first request.
    ///
    /// Errors in the environment, such as missing certificate authorities, fail the transfers that
    /// need the missing value, not this initialiser.
    ///
    /// - Parameter configuration: The settings. If one is invalid, every transfer fails with
    ///   `TransferError.Code.badConfiguration`.
    public init(configuration: TransportConfiguration = .default) {
        settings = TransportSettings(
            configuration, environment: .current)
        loops = Lock(LoopGroup(settings))
    }

    deinit {
        for loop in loops.withLock({ $0.close() }) { loop.close(.drain) }
    }

    /// Starts one transfer and returns at once.
    ///
    /// If `TransferJob.mayRunOnCaller` allows it and the event loop has nothing else to do, the
    /// calling thread runs the loop until it would have to wait. This sends the request without
    /// waking another thread first.
    ///
    /// - Parameters:
    ///   - job: The request, and where the body of the response goes.
    ///   - handler: Receives the transfer's events on the thread that runs the loop. A transfer
    ///     that cannot be started at all (the transport is shut down, no thread can be created)
    ///     finishes on the calling thread before this returns.
    /// - Returns: The transfer, which can be suspended and cancelled.
    ///
    /// Thread: any. Never blocks.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        begin(job, handler) { loop, transfer in
            // A slow disk must block only the bulk loop's own thread, never the caller.
            loop.start(
                transfer, mayRunOnCaller: job.mayRunOnCaller && !loop.isBulk,
                mayBegin: !settings.callsProgram(for: job))
        }
    }

    /// Starts to open a WebSocket and returns at once.
    ///
    /// The WebSocket uses HTTP/1.1, no extensions, and a connection of its own. Until it is open it
    /// counts towards the connection limit of its origin, and may have to wait for it.
    ///
    /// - Parameters:
    ///   - job: The handshake to send. `TransportConfiguration.timeoutIntervalForRequest` limits
    ///     the handshake and each write; an open WebSocket may be idle for any time.
    ///   - handler: Receives the connection's events on the loop's thread.
    /// - Returns: The connection. The handler may be called before this returns.
    ///
    /// Thread: any. Never blocks.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        var transferJob = TransferJob(request: job.request)
        transferJob.credential = job.credential
        transferJob.serverTrustManager = job.serverTrustManager
        transferJob.addressPolicy = job.addressPolicy
        return begin(transferJob, link: WebSocketLink(job), handler) { loop, transfer in
            loop.post(.start(transfer))
        }
    }

    /// Runs one transfer and returns when it has ended; for scripts and programs that do one thing.
    ///
    /// As long as the transport has no thread of its own, the calling thread runs the event loop,
    /// and no thread is started.
    ///
    /// - Parameter job: The request, and where the body of the response goes.
    /// - Returns: The response and its body, or the error that the transfer ended with.
    ///
    /// Thread: any, but not within a call of a handler: that blocks the loop, and so forever.
    @available(*, noasync, message: "this blocks its thread; use a session, or start(_:handler:)")
    public func perform(_ job: TransferJob) -> TransferResult {
        let waiter = Waiter()
        _ = begin(job, waiter) { loop, transfer in
            loop.post(.start(transfer), drivingUntilEndOf: transfer)
        }
        return waiter.wait()
    }

    private func begin(
        _ job: TransferJob, link: WebSocketLink? = nil, _ handler: any TransferHandler,
        post: (EventLoop, CurlTransfer) -> Bool
    ) -> CurlTransfer {
        do throws(TransferError) {
            // Not a number is not 0 or more either.
            guard job.request.timeoutInterval >= 0 else {
                throw TransferError(
                    code: .badRequest, host: job.request.url?.host(),
                    reason: "timeoutInterval: \(job.request.timeoutInterval) s is not 0 or more",
                    advice: "0 means no limit")
            }
            while true {
                let loop = try loop(isBulk: job.isBulk, for: job.request)
                let transfer = CurlTransfer(
                    job, link: link, handler: handler, loop: loop,
                    patience: settings.patience(of: job.request))
                if post(loop, transfer) { return transfer }
                // The loop has ended meanwhile. Ask for its successor, unless the transport was
                // shut down.
                transfer.withdraw()
            }
        } catch {
            let transfer = CurlTransfer(
                job, link: link, handler: handler, loop: nil, patience: nil)
            Self.refuse(transfer, error)
            return transfer
        }
    }

    private static func refuse(_ transfer: CurlTransfer, _ error: TransferError) {
        let turn = TransportTurn()
        transfer.finish(TransferResult(error: error), turn: turn)
        turn.end()
    }

    private func loop(
        isBulk: Bool, for request: HTTPRequest?
    ) throws(TransferError) -> EventLoop {
        try loops.withLock { loops throws(TransferError) in
            try loops.loop(isBulk: isBulk, for: request)
        }
    }

    /// All loops that still have transfers, including those that take no new ones.
    var livingLoops: [EventLoop] { loops.withLock { $0.living } }

    /// Runs Swift tasks on the loop's thread: `withTaskExecutorPreference(transport.taskExecutor)`.
    ///
    /// A task that awaits one transfer after another then no longer switches threads, which halves
    /// its latency. Such tasks must not block, because all transfers wait for them. Read the
    /// property again after ``reloadCertificates()``, which replaces the loop.
    ///
    /// `nil` after a shutdown, or if the loop cannot be made.
    public var taskExecutor: (any TaskExecutor)? {
        do throws(TransferError) {
            return try loop(isBulk: false, for: nil).executor
        } catch {
            return nil
        }
    }

    /// Ends all transfers with `TransferError.Code.transportClosed` and frees the transport's
    /// resources.
    ///
    /// Transfers started afterwards fail with the same code.
    ///
    /// Thread: any. Idempotent. Does not wait for the transfers to end.
    public func shutDown() {
        for loop in loops.withLock({ $0.close() }) { loop.close(.shutDown(.transportClosed)) }
    }

    /// Rejects new transfers, and returns when all running ones have ended.
    ///
    /// Requests that wait for a connection are still sent. A loop closes its connections when its
    /// last transfer has ended.
    ///
    /// - Parameter deadline: How long to wait. Transfers that are left then, open WebSockets
    ///   included, end with `TransferError.Code.transportClosed`, as they do at once when
    ///   ``shutDown()`` is called meanwhile.
    /// - Returns: How many transfers ended by themselves, and how many the deadline ended.
    @discardableResult
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        let closed = loops.withLock { $0.close() }
        let total = closed.reduce(0) { $0 + $1.load.value }
        for loop in closed { loop.close(.drain) }
        let timer = Deadlines()
        let cut = timer.add(after: deadline / .seconds(1)) {
            for loop in closed { loop.close(.shutDown(.cut(after: deadline))) }
        }
        var report = ShutdownReport()
        for loop in closed { report.cut += await loop.ending.wait() }
        timer.remove(cut)
        report.finished = max(0, total - report.cut)
        return report
    }

    /// Reads the certificate authorities and the client certificates of the configuration again.
    ///
    /// Transfers that start afterwards run on new loops and use new connections only. Running and
    /// waiting transfers continue on the old loops, which close their connections when their last
    /// transfer has ended. Until then the connection limits apply to the old and the new loops
    /// separately.
    ///
    /// Files of authorities are not watched. Those of client certificates are looked at for each
    /// transfer over TLS, and new contents are used as soon as certificate and key belong together.
    ///
    /// Thread: any. Does not wait.
    public func reloadCertificates() {
        let old = loops.withLock { $0.renew(settings.reloaded()) }
        for loop in old { loop.close(.drain) }
    }
}

/// Blocks a thread until one transfer has ended.
private final class Waiter: TransferHandler {
    private let end = DispatchSemaphore(value: 0)
    private let result = Lock<TransferResult?>(nil)

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        self.result.withLock { $0 = result }
        end.signal()
    }

    func wait() -> TransferResult {
        end.wait()
        return result.withLock { $0.take() } ?? TransferResult(error: .transportClosed)
    }
}

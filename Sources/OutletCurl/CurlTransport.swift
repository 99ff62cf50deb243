import Dispatch
import FoundationEssentials
import OutletHTTP
public import OutletTransport

/// A transport made of libcurl: HTTP/1.1 and HTTP/2, TLS, proxies, Unix sockets.
///
/// Transfers run on a thread of the transport's own, which starts with the first of them; those
/// with a file or a stream at either end run on a second one, so that a slow disk holds up nobody.
/// A transport that is let go of ends its transfers in their own time; ``shutDown()`` cancels them, and
/// ``shutDown(deadline:)`` waits for them.
public final class CurlTransport: Transport {
    private let settings: TransportSettings
    private let loops: Lock<LoopGroup>

    /// Makes a transport; nothing is opened or started before the first request.
    ///
    /// What is wrong with the environment, such as missing certificate authorities, is the error of
    /// the transfers that it concerns.
    ///
    /// - Parameter configuration: A setting that cannot be used is the error of every transfer.
    public init(configuration: TransportConfiguration = .default) {
        settings = TransportSettings(
            configuration, environment: .current)
        loops = Lock(LoopGroup(settings))
    }

    deinit {
        for loop in loops.withLock({ $0.close() }) { loop.close(.drain) }
    }

    /// Begins one transfer and returns at once.
    ///
    /// A loop that has nothing else to do is driven by the caller up to where it would have to wait,
    /// if `TransferJob.mayRunOnCaller` allows it: one wake less before the request is on its way.
    /// A transfer that cannot begin at all (the transport is shut down, no thread can be started)
    /// finishes before this returns, on the caller's thread.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        begin(job, handler) { loop, transfer in
            // A slow disk holds up nobody but the loop of those with a file.
            loop.start(
                transfer, mayRunOnCaller: job.mayRunOnCaller && !loop.isBulk,
                mayBegin: !settings.callsProgram(for: job))
        }
    }

    /// Begins to open a WebSocket and returns at once: HTTP/1.1, without extensions, its own connection.
    ///
    /// It waits for a place among its host's connections until it is open, and leaves it then.
    /// `TransportConfiguration.timeoutIntervalForRequest` limits the handshake and writing; an open
    /// WebSocket may be silent.
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

    /// Carries one transfer and returns when it is over; for scripts and programs that do one thing.
    ///
    /// As long as the transport has no thread of its own, the transfer runs on this one, and none is
    /// started.
    ///
    /// Thread: any but the transport's own, that is, not from a handler.
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
            while true {
                let loop = try loop(isBulk: job.isBulk, for: job.request)
                let transfer = CurlTransfer(
                    job, link: link, handler: handler, loop: loop,
                    patience: settings.patience(of: job.request))
                if post(loop, transfer) { return transfer }
                // It has ended since, and another has its place, unless the transport was shut down.
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

    /// All loops that there are, for those who look at them.
    var livingLoops: [EventLoop] { loops.withLock { $0.living } }

    /// Runs tasks on the transport's own thread: `withTaskExecutorPreference(transport.taskExecutor)`.
    ///
    /// A task that awaits one transfer after another then changes threads no more, which halves its
    /// latency. Such tasks must not block: all transfers wait for them. Ask again after
    /// ``reloadCertificates()``, which changes the thread.
    public var taskExecutor: (any TaskExecutor)? {
        do throws(TransferError) {
            return try loop(isBulk: false, for: nil).executor
        } catch {
            return nil
        }
    }

    /// Cancels all transfers and frees what the transport holds; it starts no more.
    public func shutDown() {
        for loop in loops.withLock({ $0.close() }) { loop.close(.shutDown(.transportClosed)) }
    }

    /// Starts no more transfers, and returns when all those under way have ended; requests that wait for
    /// a place among the connections get it.
    ///
    /// Connections are closed when the last transfer of their thread has ended.
    ///
    /// - Parameter deadline: After so long what is left, open WebSockets among it, ends with
    ///   `TransferError.Code.transportClosed`; at once with ``shutDown()``.
    /// - Returns: How many ended by themselves, and how many were cut off.
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

    /// Reads the certificate authorities and the client's certificates of the configuration anew: requests
    /// from now on use new connections, which trust and show what the files say now.
    ///
    /// Requests under way, those that wait for a place among them, end as they began, on the old
    /// connections, which are closed when the last of them has ended; until then the limits of connections
    /// hold for the old and the new ones each. Files are not watched: a certificate and its key would be
    /// read while one of them is the old one.
    public func reloadCertificates() {
        let old = loops.withLock { $0.renew(settings.reloaded()) }
        for loop in old { loop.close(.drain) }
    }
}

/// Waits for the end of one transfer.
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

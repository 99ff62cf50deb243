import FoundationEssentials
public import OutletSession

/// A transport made of libcurl: HTTP/1.1 and HTTP/2, TLS, proxies, Unix sockets.
///
/// Transfers run on a thread of the transport's own, which starts with the first of them; those
/// with a file or a stream at either end run on a second one, so that a slow disk holds up nobody.
/// A transport that is let go of ends its transfers in their own time; ``shutDown()`` cancels them.
public final class CurlTransport: Transport {
    private struct Loops {
        var data: EventLoop?
        var bulk: EventLoop?
        var shared: SharedState?
        var isClosed = false
    }

    private let settings: TransportSettings
    private let loops = Lock(Loops())

    /// Makes a transport; nothing is opened or started before the first request.
    ///
    /// What is wrong with the environment, such as missing certificate authorities, is the error of
    /// the transfers that it concerns.
    public init(configuration: SessionConfiguration = .default) {
        settings = TransportSettings(
            configuration, environment: ProcessInfo.processInfo.environment)
    }

    deinit {
        loops.withLock { loops in
            loops.data?.post(.drain)
            loops.bulk?.post(.drain)
        }
    }

    /// Begins one transfer and returns at once.
    ///
    /// A transfer that cannot begin at all (the transport is shut down, no thread can be started)
    /// finishes before this returns, on the caller's thread.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let patience = settings.patience(of: job.request)
        do throws(TransferError) {
            let loop = try loop(isBulk: job.isBulk)
            let transfer = CurlTransfer(job, handler: handler, loop: loop, patience: patience)
            if !loop.post(.start(transfer)) { Self.refuse(transfer, .transportClosed) }
            return transfer
        } catch {
            let transfer = CurlTransfer(job, handler: handler, loop: nil, patience: nil)
            Self.refuse(transfer, error)
            return transfer
        }
    }

    private static func refuse(_ transfer: CurlTransfer, _ error: TransferError) {
        let turn = TransportTurn()
        transfer.finish(TransferResult(error: error), turn: turn)
        turn.end()
    }

    private func loop(isBulk: Bool) throws(TransferError) -> EventLoop {
        try loops.withLock { loops throws(TransferError) in
            guard !loops.isClosed else { throw TransferError.transportClosed }
            if let loop = isBulk ? loops.bulk : loops.data { return loop }
            let shared: SharedState
            if let known = loops.shared {
                shared = known
            } else {
                shared = try SharedState()
                loops.shared = shared
            }
            let loop = try EventLoop(settings, shared: shared)
            try loop.start()
            if isBulk { loops.bulk = loop } else { loops.data = loop }
            return loop
        }
    }

    /// Cancels all transfers and frees what the transport holds; it starts no more.
    public func shutDown() {
        let ended = loops.withLock { loops in
            defer { loops = Loops(isClosed: true) }
            return (loops.data, loops.bulk)
        }
        ended.0?.post(.shutDown)
        ended.1?.post(.shutDown)
    }
}

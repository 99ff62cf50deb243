import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

/// What all loops of a transport share: libcurl's global state, the cache of TLS sessions.
final class SharedState: @unchecked Sendable {
    // because the share and what lies beside it are guarded by locks and never exchanged.

    /// For `CURLOPT_SHARE`.
    let share: OpaquePointer

    /// Gets the keys of connections; `nil` for nobody.
    let keyLog: KeyLog?

    /// How many transfers wait for a place, in all loops.
    let waiting = Load()

    /// The `https` origins that agreed on HTTP/1.
    private let http1Origins = Lock<Set<Origin>>([])

    /// More than these are not worth remembering.
    private static let originLimit = 4096

    /// libcurl's once-per-process set-up (`curl_global_init`), which is thread-safe from 7.84 on.
    private static let isReady = {
        TLSLibrary.keepsAtExit()
        return curl_global_init(.init(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    /// - Throws: Also what is wrong with the settings of the transport.
    init(_ settings: CheckedSettings) throws(TransferError) {
        if let fault = settings.fault { throw fault }
        try LibraryVersion.check(LibraryVersion.running)
        // Before libcurl, which would make the file readable for others if the environment names it.
        keyLog = try settings.keyLogPath.map { path throws(TransferError) in
            do throws(KeyLog.OpeningError) {
                return try KeyLog(path: path)
            } catch {
                throw .setting("tlsKeyLog", "\(error)")
            }
        }
        guard Self.isReady, let share = ccurl_share_create() else {
            throw TransferError(code: .unknown, reason: "libcurl cannot start: no memory left")
        }
        self.share = share
    }

    deinit {
        ccurl_share_destroy(share)
    }

    /// Whether an `https` origin is known to speak HTTP/1.
    func isKnownHTTP1(_ origin: Origin) -> Bool {
        http1Origins.withLock { $0.contains(origin) }
    }

    /// Notes what an `https` origin speaks.
    func learn(_ origin: Origin, isHTTP1: Bool) {
        http1Origins.withLock { origins in
            if !isHTTP1 {
                origins.remove(origin)
            } else if origins.count < Self.originLimit {
                origins.insert(origin)
            }
        }
    }
}

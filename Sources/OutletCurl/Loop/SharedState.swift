import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

/// What all loops of a transport share: libcurl's share object with the TLS session cache, the key
/// log, the number of waiting transfers, and known HTTP/1 origins.
final class SharedState: @unchecked Sendable {
    // because locks guard the share object and the other members, which are never replaced.

    /// The share object for `CURLOPT_SHARE`.
    let share: OpaquePointer

    /// Logs the TLS keys of connections; `nil` if they are not logged.
    let keyLog: KeyLog?

    /// The number of transfers that wait for a place, in all loops.
    let waiting = Load()

    /// The `https` origins that have negotiated HTTP/1.
    private let http1Origins = Lock<Set<Origin>>([])

    /// The maximum number of `http1Origins`.
    private static let originLimit = 4096

    /// libcurl's initialisation, once per process (`curl_global_init`), which is thread-safe from
    /// 7.84 on.
    private static let isReady = {
        TLSLibrary.keepsAtExit()
        return curl_global_init(.init(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    /// Makes the state.
    ///
    /// - Throws: `TransferError` if a setting is invalid, libcurl is too old, the key log cannot be
    ///   opened, or memory cannot be allocated.
    init(_ settings: CheckedSettings) throws(TransferError) {
        if let fault = settings.fault { throw fault }
        try LibraryVersion.check(LibraryVersion.running)
        // Opened before libcurl opens the file of `SSLKEYLOGFILE`, because libcurl would make it
        // readable for other users.
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

    /// Whether an `https` origin has negotiated HTTP/1.
    func isKnownHTTP1(_ origin: Origin) -> Bool {
        http1Origins.withLock { $0.contains(origin) }
    }

    /// Records the version that an `https` origin has negotiated.
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

import CCurl
import FoundationEssentials
import OutletSession
import OutletTLS

/// What all loops of a transport share: libcurl's global state, the cache of TLS sessions.
final class SharedState: @unchecked Sendable {
    // because the share and what lies beside it are guarded by locks and never exchanged.

    /// For `CURLOPT_SHARE`.
    let share: OpaquePointer

    /// How many transfers wait for a place, in all loops.
    let waiting = Load()

    /// The `https` origins that agreed on HTTP/1, as `host:port`.
    private let http1Origins = Lock<Set<String>>([])

    /// More than these are not worth remembering.
    private static let originLimit = 4096

    /// libcurl's once-per-process set-up (`curl_global_init`), which is thread-safe from 7.84 on.
    private static let isReady = {
        TLSLibrary.keepsAtExit()
        return ccurl_global_init() == CURLE_OK
    }()

    init() throws(TransferError) {
        try LibraryVersion.check(LibraryVersion.running)
        guard Self.isReady, let share = ccurl_share_create() else {
            throw TransferError(code: .unknown, reason: "libcurl cannot start: no memory left")
        }
        self.share = share
    }

    deinit {
        ccurl_share_destroy(share)
    }

    /// Whether an `https` origin is known to speak HTTP/1.
    func isKnownHTTP1(_ url: URL) -> Bool {
        let name = Self.name(of: url)
        return http1Origins.withLock { $0.contains(name) }
    }

    /// Notes what an `https` origin speaks.
    func learn(_ url: URL, isHTTP1: Bool) {
        let name = Self.name(of: url)
        http1Origins.withLock { origins in
            if !isHTTP1 {
                origins.remove(name)
            } else if origins.count < Self.originLimit {
                origins.insert(name)
            }
        }
    }

    private static func name(of url: URL) -> String {
        "\(url.host()?.lowercased() ?? ""):\(url.port ?? 443)"
    }
}

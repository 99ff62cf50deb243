import CCurl
import OutletSession
import OutletTLS

/// What all loops of a transport share: libcurl's global state, the cache of TLS sessions and what
/// came with them.
final class SharedState: @unchecked Sendable {
    // because the share and what lies beside it are guarded by locks and never exchanged.

    /// For `CURLOPT_SHARE`.
    let share: OpaquePointer

    /// OCSP responses of servers whose sessions may be resumed.
    let staples = Lock(StapleMemory())

    /// libcurl's once-per-process set-up (`curl_global_init`), which is thread-safe from 7.84 on.
    private static let isReady = {
        TLSLibrary.keepsAtExit()
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    init() throws(TransferError) {
        guard Self.isReady, let share = ccurl_share_create() else {
            throw TransferError(code: .unknown, reason: "libcurl cannot start: no memory left")
        }
        self.share = share
    }

    deinit {
        ccurl_share_destroy(share)
    }
}

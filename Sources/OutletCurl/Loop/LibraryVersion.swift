import CCurl
import OutletTransport

/// The versions of libcurl that the transport works with.
enum LibraryVersion {
    /// The oldest version: 7.87.0, in the form of `curl_version_info_data.version_num`.
    ///
    /// It is the first with all options that the transport sets (`CURLOPT_QUICK_EXIT`). From 7.84.0
    /// on `curl_global_init` may run while other threads use libcurl.
    static let oldest: UInt32 = 0x07_57_00

    /// The version loaded at run time, which may differ from the one compiled against.
    static var running: UInt32 { curl_version_info(CURLVERSION_FIRST)?.pointee.version_num ?? 0 }

    /// Whether a version sends no second request over HTTP/2 on a connection without TLS, if it uses
    /// HTTP/2 by prior knowledge: 7.88 (curl's issue 10634).
    static func losesPriorKnowledge(_ version: UInt32) -> Bool {
        (0x07_58_00..<0x08_00_00).contains(version)
    }

    /// Checks that a version is not too old.
    ///
    /// - Throws: `TransferError` that names both versions.
    static func check(_ version: UInt32) throws(TransferError) {
        guard version < oldest else { return }
        throw TransferError(
            code: .unknown,
            reason: "libcurl \(text(version)) is too old: \(text(oldest)) or later is needed",
            advice: "install a newer libcurl, or see which one is loaded (ldd)")
    }

    private static func text(_ version: UInt32) -> String {
        "\(version >> 16 & 0xFF).\(version >> 8 & 0xFF).\(version & 0xFF)"
    }
}

import CCurl
import Glibc
import OutletHTTP
import OutletTransport

/// A parsed URL, shared by all transfers to it.
final class Address {
    /// The URL in libcurl's form (`CURLOPT_CURLU`); each transfer makes its own copy.
    ///
    /// Made of the canonical text, so that libcurl connects to the host that policies have checked.
    let handle: OpaquePointer
    /// The origin that policies check.
    let origin: Origin
    /// The host, with the port if it is not the scheme's default; for errors and logs.
    let host: String
    /// The value of the field `Host`.
    let hostField: String
    /// Whether the URL contains a user name or a password.
    let hasCredential: Bool
    /// The index of the interface that the zone of an IPv6 address names, 0 for an unknown one;
    /// `nil` without a zone.
    let scope: UInt32?
    /// The origin's queue of waiting transfers.
    let queue: OriginQueue<CurlTransfer>

    /// The port; the scheme's default if the URL has none.
    var port: Int { origin.port }
    /// Whether the scheme is `https`.
    let isSecure: Bool

    /// Parses a URL.
    ///
    /// - Parameters:
    ///   - text: The URL.
    ///   - queue: Returns the queue of an origin.
    /// - Throws: `TransferError` if the URL is not one that libcurl can request.
    init(
        _ text: String, queue: (Origin) -> OriginQueue<CurlTransfer>
    ) throws(TransferError) {
        let address = try CanonicalAddress(ofTransfer: text)
        guard let handle = curl_url() else {
            throw TransferError(code: .unknown, reason: "address: no memory left to parse it")
        }
        let code = curl_url_set(handle, CURLUPART_URL, address.text, 0)
        guard code == CURLUE_OK else {
            curl_url_cleanup(handle)
            throw TransferError(
                code: code == CURLUE_UNSUPPORTED_SCHEME ? .unsupportedURL : .badURL,
                reason: "address: not a URL: \(String(cString: curl_url_strerror(code)))",
                advice: TransferError.addressAdvice,
                underlyingCode: Int32(bitPattern: code.rawValue))
        }
        if address.hasUserInfo, let fault = Self.credential(of: handle).fault {
            curl_url_cleanup(handle)
            throw TransferError(code: .badURL, reason: "address: \(fault)")
        }
        self.handle = handle
        origin = address.origin
        scope = origin.zone.map { UInt32($0) ?? if_nametoindex($0) }
        isSecure = origin.isSecure
        hasCredential = address.hasUserInfo
        hostField = address.hostField
        host =
            origin.port == (isSecure ? 443 : 80)
            ? address.wireHost : "\(address.wireHost):\(origin.port)"
        self.queue = queue(origin)
    }

    deinit {
        curl_url_cleanup(handle)
    }

    /// The path and the query, as in a request line.
    var target: String {
        let query = Self.part(CURLUPART_QUERY, of: handle).map { "?\($0)" } ?? ""
        return (Self.part(CURLUPART_PATH, of: handle) ?? "/") + query
    }

    /// The user name and the password of the URL; `nil` if it has neither.
    var credential: Credential? {
        hasCredential ? Self.credential(of: handle) : nil
    }

    private static func credential(of handle: OpaquePointer) -> Credential {
        // Not libcurl's own decoding, which has no result for control characters.
        func decoded(_ part: CURLUPart) -> String {
            let text = Array((Self.part(part, of: handle) ?? "").utf8)
            return String(decoding: percentDecoded(text[...]), as: UTF8.self)
        }
        return Credential(
            user: decoded(CURLUPART_USER), password: decoded(CURLUPART_PASSWORD))
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

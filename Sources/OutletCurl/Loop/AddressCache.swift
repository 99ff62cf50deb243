import CCurl
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
    /// The origin's queue of waiting transfers.
    let queue: OriginQueue<CurlTransfer>

    /// The port; the scheme's default if the URL has none.
    var port: Int { origin.port }
    /// Whether the scheme is `https`.
    let isSecure: Bool

    fileprivate init(_ text: String, queues: inout OriginTable) throws(TransferError) {
        let address: CanonicalAddress
        do throws(OriginError) {
            address = try CanonicalAddress(text)
            if address.scheme != address.origin.scheme { throw .unsupportedScheme(address.scheme) }
        } catch {
            throw TransferError(error)
        }
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
        self.handle = handle
        origin = address.origin
        isSecure = origin.isSecure
        hasCredential = address.hasUserInfo
        hostField = address.hostField
        host =
            origin.port == (isSecure ? 443 : 80)
            ? address.wireHost : "\(address.wireHost):\(origin.port)"
        queue = queues.queue(origin)
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
        guard hasCredential else { return nil }
        return Credential(
            user: Self.part(CURLUPART_USER, of: handle, flags: UInt32(CURLU_URLDECODE)) ?? "",
            password: Self.part(CURLUPART_PASSWORD, of: handle, flags: UInt32(CURLU_URLDECODE))
                ?? "")
    }

    private static func part(
        _ part: CURLUPart, of handle: OpaquePointer, flags: UInt32 = 0
    ) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

/// The queues of the origins that a loop knows; entries of released queues are removed now and
/// then.
struct OriginTable {
    private struct Reference {
        weak var queue: OriginQueue<CurlTransfer>?
    }

    private var queues: [Origin: Reference] = [:]
    private var sweepAt = 512
    private let settings: TransportSettings
    private let loops: Int
    private let registry: OriginRegistry

    /// Makes an empty table.
    ///
    /// - Parameters:
    ///   - settings: The connection limits.
    ///   - loops: The number of loops that an origin's connection limit may be divided among.
    ///   - registry: Shows the origins' numbers to other threads.
    init(
        _ settings: TransportSettings, amongLoops loops: Int, _ registry: OriginRegistry
    ) {
        self.settings = settings
        self.loops = loops
        self.registry = registry
    }

    /// Returns the queue of an origin, and makes it if necessary.
    mutating func queue(_ origin: Origin) -> OriginQueue<CurlTransfer> {
        if let known = queues[origin]?.queue { return known }
        if queues.count >= sweepAt {
            queues = queues.filter { $0.value.queue != nil }
            sweepAt = max(512, queues.count * 2)
        }
        let queue = OriginQueue<CurlTransfer>(
            origin, limit: LoopGroup.share(of: origin, settings, among: loops),
            isNegotiated: origin.isSecure && settings.configuration.httpVersion == .automatic,
            registry: registry)
        queues[origin] = Reference(queue: queue)
        return queue
    }
}

/// Parsed URLs by their text; parsing takes a seventh of the time libcurl spends on a small
/// request.
///
/// Two generations approximate LRU order: when the young one is full it becomes the old one, and
/// the URLs of the old one that were not used meanwhile are dropped.
struct AddressCache {
    /// The maximum number of URLs in one generation.
    static let generation = 512

    private var young: [String: Address] = [:]
    private var old: [String: Address] = [:]
    // The last URL; two properties instead of an optional tuple, which would be copied for the
    // comparison.
    private var lastText = ""
    private var lastAddress: Address?
    private var queues: OriginTable

    init(_ queues: OriginTable) {
        self.queues = queues
    }

    /// Removes all URLs.
    mutating func removeAll() {
        young = [:]
        old = [:]
        lastText = ""
        lastAddress = nil
    }

    /// Returns the parsed form of a URL.
    ///
    /// - Throws: `TransferError` if it is not a URL, or its scheme is not supported.
    mutating func address(_ text: String) throws(TransferError) -> Address {
        if lastText == text, let lastAddress { return lastAddress }
        let address: Address
        if let known = young[text] {
            address = known
        } else {
            if let known = old[text] {
                address = known
            } else {
                address = try Address(text, queues: &queues)
            }
            if young.count >= Self.generation {
                old = young
                young.removeAll(keepingCapacity: true)
            }
            young[text] = address
        }
        lastText = text
        lastAddress = address
        return address
    }
}

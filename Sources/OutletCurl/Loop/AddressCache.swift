import CCurl
import OutletHTTP
import OutletTransport

/// A parsed address, shared by all transfers to it.
final class Address {
    /// libcurl's form of the address (`CURLOPT_CURLU`); every transfer makes its own copy.
    ///
    /// Made of the canonical text, so that libcurl connects to the host that policies have seen.
    let handle: OpaquePointer
    /// The server that policies see.
    let origin: Origin
    /// The host, with the port where it is not the scheme's own: what errors and logs may show.
    let host: String
    /// The value of the field `Host`.
    let hostField: String
    /// Whether the address carries a user name or a password.
    let hasCredential: Bool
    /// The origin's place in the admission queue.
    let queue: OriginQueue<CurlTransfer>

    /// The port, the scheme's own where none is written.
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

    /// Path and query, as a request line has them.
    var target: String {
        let query = Self.part(CURLUPART_QUERY, of: handle).map { "?\($0)" } ?? ""
        return (Self.part(CURLUPART_PATH, of: handle) ?? "/") + query
    }

    /// Name and password of the address, if it carries any.
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

/// The origins that a loop knows; those that nothing refers to any more are forgotten.
struct OriginTable {
    private struct Reference {
        weak var queue: OriginQueue<CurlTransfer>?
    }

    private var queues: [Origin: Reference] = [:]
    private var sweepAt = 512
    private let settings: TransportSettings
    private let loops: Int
    private let registry: OriginRegistry

    /// - Parameters:
    ///   - loops: Among how many loops the connections to an origin may be divided.
    ///   - registry: Knows the origins for other threads.
    init(
        _ settings: TransportSettings, amongLoops loops: Int, _ registry: OriginRegistry
    ) {
        self.settings = settings
        self.loops = loops
        self.registry = registry
    }

    /// The one queue of that origin.
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

/// Parsed addresses by their text: parsing is a seventh of what libcurl does for a small request.
///
/// Two generations stand in for an order of use: what is not asked for while the young one fills
/// up is dropped with the old one.
struct AddressCache {
    /// Addresses of one generation.
    static let generation = 512

    private var young: [String: Address] = [:]
    private var old: [String: Address] = [:]
    private var last: (text: String, address: Address)?
    private var queues: OriginTable

    init(_ queues: OriginTable) {
        self.queues = queues
    }

    /// Forgets all addresses.
    mutating func removeAll() {
        young = [:]
        old = [:]
        last = nil
    }

    /// The parsed form of an address.
    mutating func address(_ text: String) throws(TransferError) -> Address {
        if let last, last.text == text { return last.address }
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
        last = (text, address)
        return address
    }
}

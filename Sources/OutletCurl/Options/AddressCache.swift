import CCurl
import OutletHTTP
import OutletSession

/// A parsed address, shared by all transfers to it.
final class Address {
    /// libcurl's form of the address (`CURLOPT_CURLU`); every transfer makes its own copy.
    let handle: OpaquePointer
    /// The host, with the port where it is not the scheme's own: what errors and logs may show.
    let host: String
    /// The host alone.
    let hostName: String
    /// The port, the scheme's own where none is written.
    let port: Int
    /// Whether the scheme is `https`.
    let isSecure: Bool
    /// Whether the address carries a user name or a password.
    let hasCredential: Bool
    /// The origin's place in the admission queue.
    let origin: Origin<CurlTransfer>

    fileprivate init(_ text: String, origins: inout OriginTable) throws(TransferError) {
        guard let handle = curl_url() else {
            throw TransferError(code: .unknown, reason: "address: no memory left to parse it")
        }
        do throws(TransferError) {
            let code = curl_url_set(handle, CURLUPART_URL, text, 0)
            guard code == CURLUE_OK else { throw Self.error(code, text) }
            guard let scheme = Self.part(CURLUPART_SCHEME, of: handle),
                scheme == "https" || scheme == "http"
            else {
                throw TransferError(
                    code: .unsupportedURL,
                    reason: "address: only http and https are spoken, not "
                        + "\(Self.part(CURLUPART_SCHEME, of: handle) ?? "this scheme")",
                    advice: "write http:// or https://")
            }
            guard let hostName = Self.part(CURLUPART_HOST, of: handle), !hostName.isEmpty else {
                throw Self.error(CURLUE_NO_HOST, text)
            }
            isSecure = scheme == "https"
            let standard = isSecure ? 443 : 80
            port = Self.part(CURLUPART_PORT, of: handle).flatMap { Int($0) } ?? standard
            self.hostName = hostName
            hasCredential =
                Self.part(CURLUPART_USER, of: handle) != nil
                || Self.part(CURLUPART_PASSWORD, of: handle) != nil
            host = port == standard ? hostName : "\(hostName):\(port)"
            origin = origins.origin("\(scheme)://\(hostName.lowercased()):\(port)")
            self.handle = handle
        } catch {
            curl_url_cleanup(handle)
            throw error
        }
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

    private static func error(_ code: CURLUcode, _ text: String) -> TransferError {
        // Without a scheme a name and a password may come first.
        let text = Redaction.standard.address(text)
        let scheme = text.prefix { $0 != ":" && $0 != "/" && $0 != "?" && $0 != "#" }
        let hasScheme = text[scheme.endIndex...].first == ":"
        let isUnsupported = !hasScheme || code == CURLUE_UNSUPPORTED_SCHEME
        let reason =
            switch (hasScheme, isUnsupported) {
            case (false, _): "address: it has no scheme"
            case (true, true): "address: only http and https are spoken, not \(scheme)"
            case (true, false): "address: not a URL: \(String(cString: curl_url_strerror(code)))"
            }
        return TransferError(
            code: isUnsupported ? .unsupportedURL : .badURL, reason: reason,
            advice: "write it as http://host/path or https://host/path",
            underlyingCode: Int32(bitPattern: code.rawValue))
    }
}

/// The origins that a loop knows; those that nothing refers to any more are forgotten.
struct OriginTable {
    private struct Reference {
        weak var origin: Origin<CurlTransfer>?
    }

    private var origins: [String: Reference] = [:]
    private var sweepAt = 512

    /// The one origin of that name.
    mutating func origin(_ name: String) -> Origin<CurlTransfer> {
        if let known = origins[name]?.origin { return known }
        if origins.count >= sweepAt {
            origins = origins.filter { $0.value.origin != nil }
            sweepAt = max(512, origins.count * 2)
        }
        let origin = Origin<CurlTransfer>(name: name)
        origins[name] = Reference(origin: origin)
        return origin
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
    private var origins = OriginTable()

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
                address = try Address(text, origins: &origins)
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

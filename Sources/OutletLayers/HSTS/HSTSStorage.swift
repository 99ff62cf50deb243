import Dispatch
public import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTransport
import Synchronization

/// The hosts that want to be talked to encrypted only (HTTP Strict Transport Security, RFC 6797).
///
/// A session with one sends what is addressed to such a host by http over https from the start: no
/// byte goes in clear. Hosts say so in answers over https whose certificate was checked.
///
/// Thread: any.
public final class HSTSStorage: Sendable {
    /// The policy of a host.
    public struct Policy: Sendable, Hashable {
        /// The host, in lower case.
        public var host: String
        /// Whether it holds for names under the host as well.
        public var includesSubdomains: Bool
        /// When it ends.
        public var expiresDate: Date

        /// Makes a policy.
        ///
        /// - Parameters:
        ///   - host: The host, without a port.
        ///   - includesSubdomains: Whether its subdomains are meant as well.
        ///   - expiresDate: When the policy ends.
        public init(host: String, includesSubdomains: Bool = false, expiresDate: Date) {
            self.host = Origin.hostForComparison(host)
            self.includesSubdomains = includesSubdomains
            self.expiresDate = expiresDate
        }
    }

    /// The most hosts that are remembered; those that end first go first.
    private static let limit = 10_000

    private let known: Lock<[String: Policy]>
    /// Whether anything is known; written under the lock of ``known``, read at each request without
    /// it.
    private let hasAny: Atomic<Bool>
    private let file: URL?
    private let failure = Lock<CacheStorageError?>(nil)
    private let writing = DispatchQueue(label: "outlet.hsts.writing", qos: .utility)

    /// Remembers hosts as long as it lives.
    public static var memory: HSTSStorage { HSTSStorage() }

    /// Remembers hosts in a file of curl's format; what cannot be read there counts as nothing.
    ///
    /// The file is read now and written, whole, whenever something changes.
    public static func file(_ url: URL) -> HSTSStorage { HSTSStorage(file: url) }

    private init(file: URL? = nil) {
        self.file = file
        let text = file.flatMap { try? Data(contentOf: $0) }.map {
            String(decoding: $0, as: UTF8.self)
        }
        let policies = HSTSFile.decode(text ?? "")
        hasAny = Atomic(!policies.isEmpty)
        known = Lock(Dictionary(policies.map { ($0.host, $0) }, uniquingKeysWith: { $1 }))
    }

    /// The policies in the order of their hosts, without expired ones.
    public var policies: [Policy] {
        let now = Date()
        return known.withLock { Array($0.values) }.filter { $0.expiresDate > now }
            .sorted { $0.host < $1.host }
    }

    /// Why the file could not be written, last time that happened.
    public var lastStorageError: CacheStorageError? { failure.withLock { $0 } }

    /// Remembers a policy in place of the host's last one; one that has ended takes that away.
    public func setPolicy(_ policy: Policy) {
        let now = Date()
        known.withLock { known in
            defer { hasAny.store(!known.isEmpty, ordering: .releasing) }
            known[policy.host] = policy.expiresDate > now ? policy : nil
            guard known.count > Self.limit else { return }
            known = known.filter { $0.value.expiresDate > now }
            while known.count > Self.limit,
                let first = known.min(by: { $0.value.expiresDate < $1.value.expiresDate })
            {
                known[first.key] = nil
            }
        }
        save()
    }

    /// Forgets everything.
    public func removeAllPolicies() {
        known.withLock { known in
            known.removeAll()
            hasAny.store(false, ordering: .releasing)
        }
        save()
    }

    /// Waits until the file is up to date, or could not be written.
    public func flush() {
        writing.sync {}
    }

    // MARK: For sessions

    package var isEmpty: Bool { !hasAny.load(ordering: .acquiring) }

    /// The address to use in an address's place; `nil` if that is to stay.
    func upgrade(_ url: URL) -> URL? {
        guard let origin = try? Origin(url), !origin.isSecure, isKnown(origin.host),
            var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return nil }
        components.scheme = "https"
        // Other ports stay as they are (§8.3).
        if components.port == 80 { components.port = 443 }
        return components.url
    }

    private func isKnown(_ host: String) -> Bool {
        known.withLock { known in
            guard !known.isEmpty else { return false }
            let now = Date()
            if let policy = known[host], policy.expiresDate > now { return true }
            var rest = host[...]
            while let parent = rest.cut(at: ".")?.tail {
                rest = parent
                if let policy = known[String(rest)], policy.includesSubdomains,
                    policy.expiresDate > now
                {
                    return true
                }
            }
            return false
        }
    }

    /// Takes in what an answer over checked https says; the first field counts (§8.1).
    func learn(from headers: HTTPHeaders, of url: URL?) {
        guard let field = headers.values(for: "Strict-Transport-Security").first, let url,
            let origin = try? Origin(url), origin.isSecure, !origin.isAddress,
            case let (host, now) = (origin.host, Date()),
            let policy = Self.policy(field, host: host, now: now)
        else { return }
        // Most responses repeat the stored policy.
        let isNews = known.withLock { known in
            let isOver = policy.expiresDate <= now
            guard let old = known[host] else { return !isOver }
            return isOver || old.includesSubdomains != policy.includesSubdomains
                || abs(old.expiresDate.timeIntervalSince(policy.expiresDate)) > 60
        }
        if isNews { setPolicy(policy) }
    }

    /// Reads `max-age=31536000; includeSubDomains` (§6.1); `nil` without a valid `max-age`, or when
    /// a directive comes twice.
    static func policy(_ field: String, host: String, now: Date) -> Policy? {
        var seen: Set<String> = []
        var seconds: Double?
        var includesSubdomains = false
        for directive in field.listItems(separatedBy: ";") {
            var scanner = ByteScanner(directive)
            let (written, value) = scanner.readParameter()
            let name = written.lowercasedASCII
            guard seen.insert(name).inserted else { return nil }
            if name == "includesubdomains" { includesSubdomains = true }
            guard name == "max-age" else { continue }
            guard let number = value?.clampedDecimal(Int64.self) else { return nil }
            seconds = min(Double(number), 1e10)
        }
        guard let seconds else { return nil }
        return Policy(
            host: host, includesSubdomains: includesSubdomains,
            expiresDate: now + seconds)
    }

    private func save() {
        guard let file else { return }
        writing.async { [self] in
            do throws(PrivateFile.Failure) {
                try PrivateFile.write(
                    Data(HSTSFile.encode(policies).utf8), to: file.path)
            } catch {
                failure.withLock { $0 = CacheStorageError(error) }
            }
        }
    }
}

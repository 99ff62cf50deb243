import Dispatch
public import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTransport
import Synchronization

/// The hosts that must be contacted over https only (HTTP Strict Transport Security, RFC 6797).
///
/// A session with a storage changes http URLs of these hosts to https before it connects, so that
/// nothing is sent unencrypted. Hosts set their policies in responses over https whose certificate
/// was verified.
///
/// Thread: any.
public final class HSTSStorage: Sendable {
    /// The policy of a host.
    public struct Policy: Sendable, Hashable {
        /// The host, in lower case.
        public var host: String
        /// Whether the policy also applies to subdomains of the host.
        public var includesSubdomains: Bool
        /// The time when the policy expires.
        public var expiresDate: Date

        /// Makes a policy.
        ///
        /// - Parameters:
        ///   - host: The host, without a port; converted to canonical form.
        ///   - includesSubdomains: Whether the policy also applies to subdomains; false by default.
        ///   - expiresDate: The time when the policy expires.
        public init(host: String, includesSubdomains: Bool = false, expiresDate: Date) {
            self.host = Origin.hostForComparison(host)
            self.includesSubdomains = includesSubdomains
            self.expiresDate = expiresDate
        }
    }

    /// The maximum number of hosts.
    private static let limit = 10_000
    /// How many hosts are removed at once, those that expire first: finding one of them takes as
    /// long.
    private static let evictedAtOnce = 100

    private struct State: Sendable {
        /// The policies by host.
        var policies: [String: Policy]
        var recent = RecentUpgrades()
        /// The hosts whose policies were set or removed since the file was written; of others the
        /// file knows more, because another process may have written it.
        var changed: Set<String> = []
        /// Whether all policies were removed since the file was written, also those of other processes.
        var isCleared = false
        /// The hosts that have ended their policies, so that not each response writes the file.
        var ended: Set<String> = []
        /// Whether the file will be written, with all changes until then.
        var isWritePending = false

        mutating func set(_ policy: Policy, now: Date) {
            let isOver = policy.expiresDate <= now
            policies[policy.host] = isOver ? nil : policy
            if isOver { ended.insert(policy.host) } else { ended.remove(policy.host) }
            changed.insert(policy.host)
            keepInBounds(now)
        }

        mutating func removeAll() {
            changed = []
            policies = [:]
            isCleared = true
        }

        /// Whether a policy says more than what is known.
        ///
        /// One that is not stored ends a hundredth of its time too early at most.
        func isNews(_ policy: Policy, now: Date) -> Bool {
            let isOver = policy.expiresDate <= now
            guard let old = policies[policy.host] else {
                // The file may have the policy that ends.
                return !isOver || !ended.contains(policy.host)
            }
            return isOver || old.includesSubdomains != policy.includesSubdomains
                || abs(old.expiresDate.timeIntervalSince(policy.expiresDate))
                    > min(60, policy.expiresDate.timeIntervalSince(now) / 100)
        }

        /// Takes the policies of the file, except for hosts that were changed.
        ///
        /// - Parameter others: The file's policies; `nil` if there is no file, whose end is not that
        ///   of the policies.
        mutating func merge(_ others: [Policy]?, now: Date) {
            guard let others = isCleared ? [] : others else { return }
            let own = policies.filter { changed.contains($0.key) }
            policies = Dictionary(others.map { ($0.host, $0) }, uniquingKeysWith: { $1 })
            for host in changed { policies[host] = own[host] }
            keepInBounds(now)
        }

        private mutating func keepInBounds(_ now: Date) {
            if ended.count > HSTSStorage.limit { ended = [] }
            // Without a file, or if it cannot be written, they are never forgotten otherwise.
            if changed.count > 2 * HSTSStorage.limit { changed.formIntersection(policies.keys) }
            guard policies.count > HSTSStorage.limit else { return }
            policies = policies.filter { $0.value.expiresDate > now }
            guard policies.count > HSTSStorage.limit else { return }
            let inOrder = policies.values.sorted { $0.expiresDate < $1.expiresDate }
            // Also those of a file with any number of them.
            let excess = max(HSTSStorage.evictedAtOnce, policies.count - HSTSStorage.limit)
            for policy in inOrder.prefix(excess) { policies[policy.host] = nil }
        }
    }

    private let known: Lock<State>
    /// Whether any host is known; written with the lock of ``known`` held, read without it for each
    /// request.
    private let hasAny: Atomic<Bool>
    private let file: URL?
    private let failure = Lock<CacheStorageError?>(nil)
    let writing = DispatchQueue(label: "outlet.hsts.writing", qos: .utility)

    /// Makes a storage in memory.
    public static var memory: HSTSStorage { HSTSStorage() }

    /// Makes a storage that keeps its hosts in a file in curl's format.
    ///
    /// Reads the file at once; a missing file and invalid lines are ignored. After changes, the
    /// whole file is written in the background, with the hosts that other processes have added to
    /// it meanwhile, which this storage then knows, too.
    ///
    /// - Parameter url: A file URL.
    /// - Returns: The storage.
    public static func file(_ url: URL) -> HSTSStorage { HSTSStorage(file: url) }

    private init(file: URL? = nil) {
        self.file = file
        let policies = Self.policies(in: file) ?? []
        hasAny = Atomic(!policies.isEmpty)
        known = Lock(
            State(policies: Dictionary(policies.map { ($0.host, $0) }, uniquingKeysWith: { $1 })))
    }

    /// The policies of a file; `nil` if it cannot be read.
    private static func policies(in file: URL?) -> [Policy]? {
        let data = file.flatMap { try? Data(contentOf: $0) }
        return data.map { HSTSFile.decode(String(decoding: $0, as: UTF8.self)) }
    }

    /// The policies that have not expired, sorted by host.
    public var policies: [Policy] {
        let now = Date()
        return known.withLock { Array($0.policies.values) }.filter { $0.expiresDate > now }
            .sorted { $0.host < $1.host }
    }

    /// The last error while writing the file; `nil` if there was none.
    public var lastStorageError: CacheStorageError? { failure.withLock { $0 } }

    /// Stores a policy; replaces the former one of its host.
    ///
    /// - Parameter policy: The policy; an expired one only removes the former one.
    public func setPolicy(_ policy: Policy) {
        let now = Date()
        known.withLock { state in
            defer {
                hasAny.store(!state.policies.isEmpty, ordering: .releasing)
                state.recent = RecentUpgrades()
            }
            state.set(policy, now: now)
        }
        save()
    }

    /// Removes all policies.
    public func removeAllPolicies() {
        known.withLock { state in
            state.removeAll()
            state.recent = RecentUpgrades()
            hasAny.store(false, ordering: .releasing)
        }
        save()
    }

    /// Waits until all pending writes of the file have succeeded or failed.
    public func flush() {
        writing.sync {}
    }

    // MARK: For sessions

    package var isEmpty: Bool { !hasAny.load(ordering: .acquiring) }

    /// Returns the https URL to use instead of a URL; `nil` if the URL needs no change.
    func upgrade(_ url: URL) -> URL? {
        let address = url.absoluteString
        return known.withLock { state in
            if let known = state.recent.result(for: address) { return known }
            guard let origin = try? Origin(url) else { return nil }
            guard !origin.isSecure, let policy = Self.policy(of: origin, in: state.policies) else {
                state.recent.keep(nil, for: address, until: nil)
                return nil
            }
            guard let secure = Self.secure(url) else { return nil }
            state.recent.keep(secure, for: address, until: policy.expiresDate)
            return secure
        }
    }

    private static func secure(_ url: URL) -> URL? {
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return nil
        }
        components.scheme = "https"
        // Other ports are kept (RFC 6797 §8.3).
        if components.port == 80 { components.port = 443 }
        return components.url
    }

    /// Returns the policy that applies to a host: its own one, or that of a domain above it.
    private static func policy(of origin: Origin, in policies: [String: Policy]) -> Policy? {
        let now = Date()
        if let policy = policies[origin.host], policy.expiresDate > now { return policy }
        var rest = origin.host[...]
        while let parent = rest.cut(at: ".")?.tail {
            rest = parent
            if let policy = policies[String(rest)], policy.includesSubdomains,
                policy.expiresDate > now
            {
                return policy
            }
        }
        return nil
    }

    /// Stores the policy of a response over verified https; only the first field counts (RFC 6797
    /// §8.1).
    func learn(from headers: HTTPHeaders, of url: URL?) {
        guard let field = headers.values(for: "Strict-Transport-Security").first, let url,
            let origin = try? Origin(url), origin.isSecure, !origin.isAddress,
            case let (host, now) = (origin.host, Date()),
            let policy = Self.policy(field, host: host, now: now)
        else { return }
        // Most responses repeat the stored policy.
        let isNews = known.withLock { $0.isNews(policy, now: now) }
        if isNews { setPolicy(policy) }
    }

    /// Parses a field like `max-age=31536000; includeSubDomains` (RFC 6797 §6.1).
    ///
    /// `nil` without a valid `max-age`, or if a directive occurs twice.
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
        let isPending = known.withLock { state in
            defer { state.isWritePending = true }
            return state.isWritePending
        }
        guard !isPending else { return }
        writing.async { [self] in
            let lock = DirectoryLock(of: file)
            defer { lock?.end() }
            let others = Self.policies(in: file)
            let written = known.withLock { state in
                state.isWritePending = false
                state.merge(others, now: Date())
                state.recent = RecentUpgrades()
                hasAny.store(!state.policies.isEmpty, ordering: .releasing)
                defer { (state.changed, state.isCleared) = ([], false) }
                return (changed: state.changed, isCleared: state.isCleared)
            }
            do throws(PrivateFile.Failure) {
                try PrivateFile.write(
                    Data(HSTSFile.encode(policies).utf8), to: PrivateFile.path(of: file))
            } catch {
                known.withLock { state in
                    state.changed.formUnion(written.changed)
                    if written.isCleared { state.isCleared = true }
                }
                failure.withLock { $0 = CacheStorageError(error) }
            }
        }
    }
}

import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// Calls the `trust` hooks of plugins after the evaluators of the session.
final class HookedTrust: ServerTrustDeciding {
    private let plugins: [PluginInstance]
    private let manager: (any ServerTrustDeciding)?
    private let verifies: Bool
    private let running: RunningPlugins
    /// The instances that are skipped, because their requests led to the connection; `nil` for none.
    private let excluded: Set<ObjectIdentifier>?
    /// The session whose connections this object decides about; empty before it is attached.
    let sessions: AttachedSessions

    private struct Kept: Sendable {
        /// The objects that decide for requests with skipped instances.
        var deciders: [Set<ObjectIdentifier>: HookedTrust] = [:]
        /// Keeps the numbers of policies, so that connections are used again.
        var policies: [ServerTrustPolicy] = []
    }
    /// The maximum number of each of the kept objects.
    private static let limit = 64
    private let kept = Lock(Kept())

    init(
        _ plugins: [PluginInstance], behind manager: (any ServerTrustDeciding)?, verifies: Bool,
        keeping running: RunningPlugins, without excluded: Set<ObjectIdentifier>? = nil,
        for sessions: AttachedSessions = AttachedSessions()
    ) {
        self.excluded = excluded
        self.sessions = sessions
        self.running = running
        self.plugins = plugins
        self.manager = manager
        self.verifies = verifies
    }

    func decider(for request: HTTPRequest) -> any ServerTrustDeciding {
        guard let excluded = request.excludedPlugins else { return self }
        return kept.withLock { kept in
            if let known = kept.deciders[excluded] { return known }
            let decider = HookedTrust(
                plugins.filter { !request.excludes($0) }, behind: manager, verifies: verifies,
                keeping: running, without: excluded, for: sessions)
            if kept.deciders.count == Self.limit { kept.deciders = [:] }
            kept.deciders[excluded] = decider
            return decider
        }
    }

    func policy(forHost host: String, port: Int) -> ServerTrustPolicy? {
        let policy = ServerTrustPolicy.of(
            PluginTrustEvaluator(
                plugins: plugins, policy: manager?.policy(forHost: host, port: port),
                verifies: verifies, excluded: excluded, sessions: sessions))
        kept.withLock { kept in
            guard !kept.policies.contains(where: { $0.number == policy.number }) else { return }
            if kept.policies.count == Self.limit { kept.policies.removeFirst() }
            kept.policies.append(policy)
        }
        return policy
    }
}

/// Trusts a server that passes all plugins and the policy; without a policy, the default checks if
/// they are enabled.
private struct PluginTrustEvaluator: ServerTrustEvaluating, Equatable {
    let plugins: [PluginInstance]
    let policy: ServerTrustPolicy?
    let verifies: Bool
    let excluded: Set<ObjectIdentifier>?
    /// That of the session; requests that a `trust` hook sends use it.
    let sessions: AttachedSessions

    static func == (a: PluginTrustEvaluator, b: PluginTrustEvaluator) -> Bool {
        a.policy?.number == b.policy?.number && a.verifies == b.verifies
            && a.excluded == b.excluded && a.sessions === b.sessions
            && a.plugins.elementsEqual(b.plugins) { $0 === $1 }
    }

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        if let policy {
            _ = try policy.evaluate(trust)
        } else if verifies {
            try DefaultTrustEvaluator().evaluate(trust, forHost: host)
        }
        let origin = CallOrigin(session: { [sessions] in sessions.first }, excluded: excluded)
        for plugin in plugins { try plugin.judge(trust, verifies: verifies, of: origin) }
    }

    func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        if let policy { return (try? policy.evaluate(trust)) ?? false }
        return trust.chainFault == nil && trust.hostFault(for: host) == nil
    }
}

extension PluginInstance {
    /// Calls the `trust` hook; blocks until it returns.
    ///
    /// - Parameters:
    ///   - trust: The server and its certificates.
    ///   - verifies: Whether the plugin receives the fault that the default checks find.
    ///   - origin: What the connection is opened for.
    /// - Throws: ``PluginError`` when the plugin does not trust the server, is closed or is
    ///   suspended.
    fileprivate func judge(
        _ trust: ServerTrust, verifies: Bool, of origin: CallOrigin
    ) throws(PluginError) {
        guard let hook = hooks.trust else { return }
        var arena = ByteArena()
        let certificates = trust.certificates.map { arena.copy($0.der).view }
        let fault = verifies ? trust.chainFault ?? trust.hostFault(for: trust.host) : nil
        let context = OriginContext(origin)
        let call = HandleTable.shared.insert(context, owner: owner.number)
        defer { HandleTable.shared.remove(call) }
        let stopwatch = Stopwatch(owner.observer)
        var active = ActiveCall(.trust)
        let status = try perform(&active, about: trust.host) { pointer, _ in
            certificates.withUnsafeBufferPointer { list in
                var server = outlet_trust(
                    struct_size: UInt32(MemoryLayout<outlet_trust>.size),
                    port: UInt32(clamping: trust.port), host: arena.copy(trust.host).view,
                    certificates: list.baseAddress, certificate_count: UInt64(list.count),
                    fault: arena.copy(fault.map { "\($0)" } ?? "").view)
                return hook(pointer, outlet_call(id: call), &server)
            }
        }
        noteBlocking(active, of: trust.host)
        let failure = status == OUTLET_OK ? nil : failure(of: .trust, context.reason(status))
        stopwatch.report(
            owner, .trust, requestID: nil, effects: [], failure: failure)
        if let failure { throw failure }
    }
}

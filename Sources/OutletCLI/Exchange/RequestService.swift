import Outlet

/// A session and the plugins that take part in it, for the life of one command.
struct RequestService: Sendable {
    let sender: RequestSender
    private let host: PluginHost?

    /// - Parameters:
    ///   - host: The plugins, if any take part.
    ///   - watcher: Told what they do.
    init(
        _ configuration: SessionConfiguration, redirects: Redirector, host: PluginHost?,
        watcher: PluginWatcher, progress: ProgressReporter? = nil
    ) {
        self.host = host
        let printed = PrintedGuard()
        let session = Session(
            configuration: configuration, interceptor: host == nil ? nil : printed,
            redirectHandler: redirects, plugins: host)
        let retries = host?.plugins.contains { $0.hooks.contains(.retry) } ?? false
        sender = RequestSender(
            session: session, watcher: watcher, retries: retries ? printed : nil,
            progress: progress)
    }

    /// What the plugins have done so far.
    var pluginStatus: [PluginStatus] { host?.status ?? [] }

    /// Ends the plugins, and says which of them did not.
    ///
    /// - Parameter rest: How long that may take, in seconds; `nil` for as long as usual.
    /// - Returns: Whether all ended as they should.
    func shutDown(_ console: Console, within rest: Double?) async -> Bool {
        guard let host else { return true }
        let faults = faults
        for change in host.processChanges {
            console.report(
                "outlet: plugin \(pluginStatus.map(\.id).joined(separator: " or ")): breaks the "
                    + "contract: \(PluginRule.stateProcess.rawValue): it changed \(change)")
        }
        let limit = min(Self.usualEnd, max(rest ?? Self.usualEnd, Self.shortestEnd))
        let abandoned = await host.shutDown(deadline: .seconds(limit))
        console.report(abandoned: abandoned)
        return abandoned.isEmpty && self.faults == faults
    }

    /// How long plugins may take to end, in seconds.
    private static let usualEnd = 5.0
    /// How long they may take where the time is over already.
    private static let shortestEnd = 0.5

    /// How many values that nobody knows the plugins have answered.
    private var faults: Int {
        pluginStatus.reduce(0) {
            $0 + ($1.faults[PluginMisbehaviour.Kind.forbiddenValue.rawValue] ?? 0)
        }
    }
}

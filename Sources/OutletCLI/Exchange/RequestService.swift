import Outlet

/// The session and the plugins of one command.
struct RequestService: Sendable {
    let sender: RequestSender
    private let host: PluginHost?
    private let watcher: PluginWatcher

    /// Makes the session.
    ///
    /// - Parameters:
    ///   - configuration: The session's settings.
    ///   - redirects: Decides about redirects of the command's requests; those of plugins' own
    ///     requests are followed.
    ///   - host: The plugins; `nil` if there are none.
    ///   - watcher: Records the actions of plugins.
    ///   - progress: Shows the progress of requests; `nil` for none.
    init(
        _ configuration: SessionConfiguration, redirects: Redirector, host: PluginHost?,
        watcher: PluginWatcher, progress: ProgressReporter? = nil
    ) {
        self.host = host
        self.watcher = watcher
        let retries = RetryGuard()
        let session = Session(
            configuration: configuration, plugins: host.map { GuardedPlugins($0, retries) })
        let mayRetry = host?.plugins.contains { $0.hooks.contains(.retry) } ?? false
        sender = RequestSender(
            session: session, redirects: redirects, watcher: watcher,
            retries: mayRetry ? retries : nil, progress: progress)
    }

    /// The statistics of the plugins so far.
    var pluginStatus: [PluginStatus] { host?.status ?? [] }

    /// The errors of plugins that cannot be used.
    var unusablePlugins: [PluginLoadError] { host?.unusable ?? [] }

    /// The violations by the plugins so far.
    var violations: [PluginMisbehaviour] { watcher.violations }

    /// Shuts the plugins down, and reports those that did not end.
    ///
    /// Cancelling the task during the call ends it early. If the task was cancelled before, as by a
    /// signal during the request, the plugins have their usual time.
    ///
    /// - Parameters:
    ///   - console: Where to report.
    ///   - rest: The remaining time of the command in seconds; `nil` if there is no limit. Plugins
    ///     get at least 0.5 s and at most 5 s.
    /// - Returns: Whether all plugins ended in time, and broke no rule meanwhile.
    func shutDown(_ console: Console, within rest: Double?) async -> Bool {
        guard let host else { return true }
        let end = PluginsEnd(of: host, console: console)
        let limit = min(Self.usualEnd, max(rest ?? Self.usualEnd, Self.shortestEnd))
        let isCancelled = Task.isCancelled
        let abandoned = await withTaskCancellationHandler {
            await host.shutDown(deadline: .seconds(limit))
        } onCancel: {
            if !isCancelled { host.abandon() }
        }
        return end.report(abandoned)
    }

    /// The time limit for shutting plugins down, in seconds.
    private static let usualEnd = 5.0
    /// The time limit if the command's own one has passed, in seconds.
    private static let shortestEnd = 0.5
}

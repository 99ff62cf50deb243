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
    func shutDown(_ console: Console) async {
        guard let host else { return }
        console.report(abandoned: await host.shutDown())
    }
}

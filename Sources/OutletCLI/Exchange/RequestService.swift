import Outlet

/// A session and the plugins around it, for the life of one command.
struct RequestService: Sendable {
    let sender: RequestSender
    private let host: PluginHost?

    /// A session that no plugin takes part in.
    init(
        _ configuration: SessionConfiguration, redirects: Redirector, progress: ProgressReporter?
    ) {
        host = nil
        sender = RequestSender(
            session: Session(configuration: configuration, redirectHandler: redirects),
            plugins: nil, progress: progress)
    }

    /// A session with plugins on every step.
    init(
        _ configuration: SessionConfiguration, redirects: Redirector, host: PluginHost,
        watcher: PluginWatcher, progress: ProgressReporter? = nil
    ) {
        let witness = RequestWitness(progress: progress)
        self.host = host
        let session = Session(
            transport: host.transport(over: CurlTransport(configuration: configuration)),
            configuration: configuration, interceptor: host.interceptor,
            redirectHandler: redirects, eventMonitors: [witness])
        sender = RequestSender(
            session: session,
            plugins: RequestSender.Plugins(
                hooks: host.providerPlugins, watcher: watcher, witness: witness),
            progress: progress)
    }

    /// Ends the plugins, and says which of them did not.
    func shutDown(_ console: Console) async {
        guard let host else { return }
        console.report(abandoned: await host.shutDown())
    }
}

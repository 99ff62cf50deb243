import Dispatch
import OutletHTTP
public import OutletSession
public import OutletTransport

/// The plugins of some directories, running in this process.
///
/// Give the host to a session, `Session(plugins: host)`: every request of the session passes the hooks,
/// whatever its kind, and so do those of providers on it. Call `shutDown(deadline:)-async` before the process ends; plugins that nobody holds any more,
/// neither the host nor what it gave out, are shut down in the background.
///
/// Thread: any, for every member.
public final class PluginHost: SessionPlugins {
    /// What a host is to accept, and whom it tells.
    public struct Options: Sendable {
        /// How plugins are to be used, by plugin id; comes before what `plugins.json` of a directory
        /// says.
        public var settings: [String: PluginSettings] = [:]
        /// Configuration as JSON objects, by plugin id, or by id, `#` and the name of an instance.
        ///
        /// Its keys come before those of ``settings`` and of files; of an instance's before a plugin's.
        public var configuration: [String: String] = [:]
        /// Where texts of ``configuration`` come from, for errors, by the same; "the program" if not
        /// given.
        public var configurationSources: [String: String] = [:]
        /// Whether `plugins.json` of each directory is read, which says how its plugins are to be used.
        public var readsSettingsFiles = true
        /// Whether files and directories that others can write to are refused; leave it on.
        public var checksOwnership = true
        /// Whether a plugin without a manifest is refused.
        public var requiresManifest = false
        /// What happens when not every plugin can be used.
        public var loadPolicy = LoadPolicy.all
        /// How long a hook is waited for, one that promises its answer included.
        public var answerDeadline: Duration = .seconds(30)
        /// How many faults a plugin may have within a minute, such as missed deadlines, before it is left
        /// alone for a while; 0 for any number.
        ///
        /// Requests fail then, or go on without it where it ``PluginSettings/failsOpen``.
        public var maximumFaults = 10
        /// How long a plugin with too many faults is left alone.
        public var restDuration: Duration = .seconds(30)
        /// How many attempts plugins may ask for beside a request's first, all of them together.
        public var maximumRetries = 10
        /// How many events (`on_events`) wait for a plugin that is slow; of later ones it is told the
        /// number.
        public var maximumWaitingEvents = 1024
        /// How long plugins are waited for when they are let go of without a shutdown.
        public var shutDownDeadline: Duration = .seconds(5)
        /// An existing directory in which each plugin is given one of its own, by its id; `nil` for none.
        public var dataDirectory: String?
        /// Told what plugins do; nothing is measured without one.
        public var observer: (any PluginObserver)?

        /// The usual options.
        public init() {}
    }

    /// What happens when a file of a directory, or a named one, cannot be used as a plugin, or when
    /// there are settings for a plugin that is not there; plugins that are optional by their settings
    /// never stop the others.
    public enum LoadPolicy: Sendable {
        /// Nothing is loaded: what requests would go without may be the one that signs or guards
        /// them.
        case all
        /// The others run, and ``PluginHost/failures`` says what is missing.
        case usable
    }

    /// The plugins that run, in the order in which their hooks are called.
    public let plugins: [LoadedPlugin]
    /// What could not be loaded, and why; empty unless the policy is ``LoadPolicy/usable``.
    public let failures: [PluginLoadError]
    /// What could not be loaded, and why, of plugins that are optional by their settings.
    public let skipped: [PluginLoadError]
    /// The ids of plugins that settings disable.
    public let disabled: [String]
    /// What speaks against nothing but deserves a look, a line each: settings that all users can read,
    /// permissions that this host does not know.
    public let warnings: [String]
    /// The plugins that adapt, prepare and retry.
    public let interceptors: [any RequestInterceptor]
    /// The plugins that see what is about to be sent, and the answers that they give in its place.
    public let layers: [@Sendable (_ next: any Transport) -> any Transport]
    /// The plugins that decide about redirects.
    public let redirectJudges: [any RedirectJudge]
    /// The plugins that see, and process, what a call has come to.
    public let middleware: [any Middleware]
    /// The plugins that watch all requests.
    public let eventMonitors: [any EventMonitor]
    /// The plugins that judge servers.
    private let trusting: [PluginInstance]
    private let running: RunningPlugins
    /// What belongs to the process, as it was when the plugins had been loaded.
    private let process = ProcessState()

    /// Loads the plugins of directories, then those of single files.
    ///
    /// A directory's `plugins.json` says how its plugins are to be used, and nothing of others'.
    ///
    /// A plugin that cannot be used is an error, or with ``LoadPolicy/usable`` one of the
    /// ``failures``; of two with one id the first stays. Libraries stay mapped for good, also those
    /// whose plugin failed to start.
    ///
    /// - Throws: ``PluginDirectoryError`` when a directory or its `plugins.json` cannot be read or is
    ///   not safe, whatever the policy, or when a plugin cannot be used; those that had started are shut
    ///   down first.
    ///
    /// Blocks while files are read and plugins created.
    ///
    /// - Parameters:
    ///   - directories: Searched for files that end in `.so`, in the order of their names; not recursively.
    ///   - files: Paths of further plugins.
    ///   - options: What they are given and allowed.
    public static func load(
        directories: [String], files: [String] = [], options: Options = Options()
    ) throws(PluginDirectoryError) -> PluginHost {
        var listed: [(path: String, settings: SettingsSource?)] = []
        var sources: [SettingsSource] = []
        var unusable: [PluginLoadError] = []
        var warnings: [String] = []
        for path in directories {
            let directory = try PluginDirectory(
                path: path, checksOwnership: options.checksOwnership)
            let file =
                options.readsSettingsFiles
                ? try SettingsFile.read(
                    inDirectory: directory.path, checksOwnership: options.checksOwnership) : nil
            listed += directory.candidates.map { ($0, file?.source) }
            unusable += directory.failures
            if let file { sources.append(file.source) }
            if let warning = file?.warning { warnings.append(warning) }
        }
        let loader = PluginLoader.inTurn {
            var loader = PluginLoader(
                settings: HostSettings(options), checksOwnership: options.checksOwnership,
                requiresManifest: options.requiresManifest, observer: options.observer,
                breaker: CircuitBreaker.Rules(
                    maximumFaults: options.maximumFaults, window: 60_000_000_000,
                    pause: options.restDuration.nanoseconds),
                dataDirectory: options.dataDirectory, failures: unusable, warnings: warnings)
            for (path, settings) in listed {
                loader.load(path, isListed: true, settings: settings)
            }
            for path in files {
                // A path without a slash would be looked up along the linker's search path.
                loader.load(path.containsByte("/") ? path : "./\(path)", isListed: false)
            }
            loader.checkSettings(
                of: sources, in: (directories + files).joined(separator: ", "))
            return loader
        }
        let host = PluginHost(loader, options: options)
        guard host.failures.isEmpty || options.loadPolicy == .usable else {
            host.shutDownAndWait(deadline: options.shutDownDeadline)
            throw .incomplete(host.failures)
        }
        return host
    }

    /// Loads the plugins of one directory, all of them.
    ///
    /// - Parameters:
    ///   - directory: The directory; its `*.so` files are loaded in the order of their names.
    ///   - configuration: Configuration by plugin id, as JSON objects.
    ///   - observer: Told what plugins do.
    /// - Throws: ``PluginDirectoryError``.
    public static func load(
        directory: String, configuration: [String: String] = [:],
        observer: (any PluginObserver)? = nil
    ) throws(PluginDirectoryError) -> PluginHost {
        var options = Options()
        options.configuration = configuration
        options.observer = observer
        return try load(directories: [directory], options: options)
    }

    private init(_ loader: PluginLoader, options: Options) {
        // Stable: of one order, what was loaded first comes first.
        plugins = (-1...1).flatMap { order in
            loader.plugins.filter { $0.instance.descriptor.order == order }
        }
        failures = loader.failures
        skipped = loader.skipped
        disabled = loader.disabled
        warnings = loader.warnings
        let running = RunningPlugins(
            loader.plugins.map(\.instance), deadline: options.shutDownDeadline.nanoseconds)
        self.running = running
        let limit = options.answerDeadline.nanoseconds
        let plugins = plugins
        func instances(with hooks: PluginHook...) -> [PluginInstance] {
            plugins.filter { plugin in hooks.contains { plugin.hooks.contains($0) } }.map(
                \.instance)
        }
        func interceptors(with hook: PluginHook) -> [HookedInterceptor] {
            plugins.filter { $0.hooks.contains(hook) }
                .map {
                    HookedInterceptor(
                        $0.instance, limit: limit, maximumRetries: options.maximumRetries,
                        keeping: running)
                }
        }
        let interceptor = Interceptor(
            adapters: interceptors(with: .adapt)
                + instances(with: .prepare).map {
                    HookedPreparer($0, limit: limit, keeping: running)
                },
            retriers: interceptors(with: .retry))
        let takesPart = !interceptor.adapters.isEmpty || !interceptor.retriers.isEmpty
        self.interceptors = takesPart ? [interceptor] : []
        let watchers = instances(with: .willSend)
        let finalizers = instances(with: .finalize)
        layers =
            watchers.isEmpty && finalizers.isEmpty && interceptor.adapters.isEmpty
            ? []
            : [
                {
                    HookedWire(
                        around: $0, finalizers: finalizers, watchers: watchers, limit: limit,
                        keeping: running)
                }
            ]
        let watching = instances(with: .events)
        eventMonitors =
            watching.isEmpty
            ? []
            : [
                HookedEvents(
                    watching, capacity: options.maximumWaitingEvents, keeping: running)
            ]
        trusting = instances(with: .trust)
        redirectJudges = instances(with: .redirect).map {
            HookedRedirects($0, limit: limit, keeping: running)
        }
        let judges = instances(with: .didReceive, .process)
        // Hooks on the wire that may take their time have ended when the call does.
        let isNeeded =
            !judges.isEmpty || watchers.contains { !$0.isNonblocking }
            // What a plugin sends for a call goes through its session; its streams end with it.
            || plugins.contains {
                $0.hooks.contains(.requestDone) || $0.instance.owner.usesCallServices
            }
        middleware = isNeeded ? [HookedCalls(judges, limit: limit, keeping: running)] : []
    }

    /// The plugins that judge servers, behind who decides without them.
    ///
    /// - Parameters:
    ///   - manager: Asked first; the usual checks decide where it is `nil`.
    ///   - verifies: Whether the usual checks are made.
    /// - Returns: `nil` where no plugin judges servers and there is no manager.
    public func trustJudge(
        behind manager: (any ServerTrustJudging)?, verifies: Bool
    ) -> (any ServerTrustJudging)? {
        trusting.isEmpty
            ? manager
            : HookedTrust(trusting, behind: manager, verifies: verifies, keeping: running)
    }

    /// What makes values of responses by a plugin's `serialize`; `nil` where there is no such plugin.
    ///
    /// - Parameter id: The plugin's, with `#` and the name of the instance if there are several.
    public func serializer(_ id: String) -> PluginSerializer? {
        plugins.first { $0.id == id && $0.hooks.contains(.serialize) }.map {
            PluginSerializer($0.instance, keeping: running)
        }
    }

    /// What the plugins have done so far, in their order.
    public var status: [PluginStatus] { plugins.map(\.status) }

    /// What of the process differs from when the plugins had been loaded, one fact each: signal handlers,
    /// current directory, umask, locale, limits, environment.
    ///
    /// The change may be the program's own: one that changes none of these knows that it was a plugin.
    public var processChanges: [String] { process.changes }

    /// Lets plugins send requests of their own through a session.
    ///
    /// - Parameter session: Kept weakly: a plugin's request needs one that is in use.
    public func attach(to session: Session) {
        for plugin in plugins { plugin.instance.sessions.add(session) }
    }

    // MARK: Functions

    /// Calls a function that a plugin exports.
    ///
    /// - Parameters:
    ///   - name: The plugin's id, with `#` and the name of the instance if it has one, a dot, and the
    ///     function's name.
    ///   - arguments: One for each parameter; whole numbers fit all kinds of numbers.
    /// - Throws: ``PluginCallError``.
    ///
    /// Blocks as long as the function does, and, unless the plugin allows overlap, as long as its
    /// hooks do.
    public func call(
        _ name: String, _ arguments: [PluginValue] = []
    ) throws(PluginCallError) -> PluginValue {
        let (caller, function) = try function(name)
        return try caller.call(function, arguments)
    }

    /// Calls a function with texts, as from a command line; each is read as the kind wanted.
    ///
    /// - Throws: ``PluginCallError``.
    public func call(
        _ name: String, parsing arguments: [String]
    ) throws(PluginCallError) -> PluginValue {
        let (caller, function) = try function(name)
        return try caller.call(function, parsing: arguments)
    }

    private func function(
        _ name: String
    ) throws(PluginCallError) -> (FunctionCaller, CallableFunction) {
        guard let parts = name.cutAtLast("."), !parts.head.isEmpty, !parts.tail.isEmpty else {
            throw .malformedName(name)
        }
        let (id, function) = (String(parts.head), String(parts.tail))
        guard let plugin = plugins.first(where: { $0.id == id }) else {
            throw .unknownPlugin(id, known: plugins.map(\.id))
        }
        return (plugin.caller, try plugin.caller.function(named: function))
    }

    // MARK: The end

    /// Ends all plugins: no more calls, pending answers fail, then `quiesce`, then `destroy`.
    ///
    /// - Parameter deadline: How long to wait for plugins that take their time; those that take
    ///   longer are abandoned: never destroyed, never called again.
    /// - Returns: The ids of those that were abandoned.
    @discardableResult
    public func shutDown(deadline: Duration = .seconds(5)) async -> [String] {
        await withCheckedContinuation { continuation in
            shutDown(deadline: deadline) { continuation.resume(returning: $0) }
        }
    }

    /// As `shutDown(deadline:)-async`, blocking the caller.
    ///
    /// Never call it from inside a plugin's hook or an observer: it would wait for itself until
    /// the deadline.
    @discardableResult
    public func shutDownAndWait(deadline: Duration = .seconds(5)) -> [String] {
        let abandoned = Lock([String]())
        let done = DispatchSemaphore(value: 0)
        shutDown(deadline: deadline) { ids in
            abandoned.withLock { $0 = ids }
            done.signal()
        }
        done.wait()
        return abandoned.withLock { $0 }
    }

    private func shutDown(
        deadline: Duration, completion: @escaping @Sendable ([String]) -> Void
    ) {
        running.shutDown(deadline: deadline.nanoseconds, completion: completion)
    }
}

extension Duration {
    /// In nanoseconds, 0 for negative ones.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole &+ UInt64(attoseconds / 1_000_000_000)
    }
}

extension HostSettings {
    /// What the options of a host say.
    init(_ options: PluginHost.Options) {
        self.init(
            settings: options.settings, texts: options.configuration,
            sources: options.configurationSources)
    }
}

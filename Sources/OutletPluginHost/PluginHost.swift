import Dispatch
import OutletHTTP
public import OutletSession
public import OutletTransport

/// Loads plugins from directories and files and runs them in this process.
///
/// Pass the host to a session, `Session(plugins: host)`. Every request of the session, of any kind,
/// then goes through the plugins' hooks, including requests of providers that use the session. Call
/// `shutDown(deadline:)-async` before the process ends. Plugins are shut down in the background
/// once neither the host nor any object it returned is referenced any more.
///
/// Thread: any, for every member.
public final class PluginHost: SessionPlugins {
    /// Which plugins a host accepts, the limits they run under, and where reports go.
    public struct Options: Sendable {
        /// Settings by plugin id; they override `plugins.json` of a directory.
        public var settings: [String: PluginSettings] = [:]
        /// Configuration as texts of JSON objects, by plugin id or by instance id (`id#instance`).
        ///
        /// Its top-level keys override those of ``settings`` and of `plugins.json`; keys of an
        /// instance override keys of its plugin.
        public var configuration: [String: String] = [:]
        /// The origin of each text in ``configuration``, by the same keys, for error messages; "the
        /// program" where none is given.
        public var configurationSources: [String: String] = [:]
        /// Whether each directory's `plugins.json` is read, which holds settings for its plugins.
        public var readsSettingsFiles = true
        /// Whether the host refuses files and directories that users other than root and the
        /// current user can write to; keep it `true` outside of tests.
        public var checksOwnership = true
        /// Whether a library without a manifest is refused.
        public var requiresManifest = false
        /// What happens when not every plugin can be used.
        public var loadPolicy = LoadPolicy.all
        /// The longest time a hook may take to answer, including one that returned
        /// `OUTLET_PENDING`.
        ///
        /// `trust` has no deadline: the host waits until it returns. Calls that must not overlap
        /// with others wait for those as long at most, also exported functions; `trust` waits for a
        /// second at most, and then fails.
        public var answerDeadline: Duration = .seconds(30)
        /// The number of contract violations within 60 seconds, such as missed deadlines, after
        /// which the host stops calling the plugin's request hooks for ``restDuration``; 0 disables
        /// this.
        ///
        /// During that time requests fail with ``PluginError/Kind/tripped``, or skip the plugin
        /// where its settings allow it (``PluginSettings/failsOpen``).
        public var maximumFaults = 10
        /// How long a plugin with too many violations is not called (``maximumFaults``).
        public var restDuration: Duration = .seconds(30)
        /// The number of retries of a request up to which plugins may ask for another attempt.
        ///
        /// Counts all retries of the request, also those that other retriers asked for. Beyond it,
        /// a plugin that asks for a retry fails the request.
        public var maximumRetries = 10
        /// The number of events (`on_events`) queued for each plugin; the host drops further events
        /// and passes the number of dropped ones with the next batch.
        public var maximumWaitingEvents = 1024
        /// The time limit for shutting plugins down when the host is released without a call of
        /// `shutDown(deadline:)-async`, or when loading fails.
        public var shutDownDeadline: Duration = .seconds(5)
        /// An existing directory in which the host creates one data directory for each instance,
        /// named by its id; `nil` for none.
        ///
        /// A data directory that is open to other users, or that they can replace, is refused, unless
        /// ownership is not checked.
        public var dataDirectory: String?
        /// Receives activity, log lines and contract violations; `nil` turns measuring off.
        public var observer: (any PluginObserver)?

        /// Creates options with the default values.
        public init() {}
    }

    /// What happens when a file cannot be used as a plugin, or when settings name a plugin that was
    /// not found.
    ///
    /// Plugins that are optional by their settings never make loading fail.
    public enum LoadPolicy: Sendable {
        /// Loading fails: the missing plugin may be the one that signs or guards requests.
        case all
        /// The usable plugins run, and ``PluginHost/failures`` lists the errors.
        case usable
    }

    /// The running plugins, in the order in which their hooks are called.
    public let plugins: [LoadedPlugin]
    /// The errors of plugins that could not be loaded; empty unless the policy is
    /// ``LoadPolicy/usable``.
    public let failures: [PluginLoadError]
    /// The errors of plugins that could not be loaded and are optional by their settings.
    public let skipped: [PluginLoadError]
    /// The ids of plugins that settings disable.
    public let disabled: [String]
    /// Problems that do not prevent loading, one line each: settings files that all users can read,
    /// permissions that this host does not know.
    public let warnings: [String]
    /// Calls the hooks `adapt`, `prepare` and `retry`.
    public let interceptors: [any RequestInterceptor]
    /// Calls the hooks `finalize` and `will_send`, and delivers responses that plugins gave in
    /// place of a transfer.
    public let layers: [@Sendable (_ next: any Transport) -> any Transport]
    /// Calls the hook `redirect`.
    public let redirectDeciders: [any RedirectDecider]
    /// Calls the hooks `did_receive` and `process`, and ends what plugins hold for a call.
    public let middleware: [any Middleware]
    /// Calls the hook `on_events`.
    public let eventMonitors: [any EventMonitor]
    /// The instances with a `trust` hook.
    private let trusting: [PluginInstance]
    private let running: RunningPlugins
    /// ``Options/answerDeadline``, in nanoseconds.
    private let limit: UInt64
    /// Process-wide state as it was after loading, for ``processChanges``.
    private let process = RestorableProcessState()

    /// Loads plugins.
    ///
    /// A directory's `plugins.json` applies to the plugins of that directory only.
    ///
    /// A plugin that cannot be used makes loading fail, or with ``LoadPolicy/usable`` is listed in
    /// ``failures``. Of two plugins with the same id, the first is kept. Libraries stay mapped
    /// until the process ends, including those whose plugin failed to start.
    ///
    /// Blocks while files are read and plugins are created.
    ///
    /// - Parameters:
    ///   - places: Directories and files, in the order in which their plugins are loaded.
    ///   - options: Settings, policies and limits.
    /// - Throws: ``PluginDirectoryError`` when a directory or its `plugins.json` cannot be read or
    ///   is not safe, with either policy; ``PluginDirectoryError/incomplete(_:)`` when a plugin
    ///   cannot be used and the policy is ``LoadPolicy/all``, after the plugins that had started
    ///   have been shut down.
    /// - Returns: The host with its running plugins.
    public static func load(
        _ places: [PluginPlace], options: Options = Options()
    ) throws(PluginDirectoryError) -> PluginHost {
        let places = try PluginPlaces(
            places, checksOwnership: options.checksOwnership,
            readsSettingsFiles: options.readsSettingsFiles)
        let loader = PluginLoader.inTurn {
            var loader = PluginLoader(
                settings: HostSettings(options), checksOwnership: options.checksOwnership,
                requiresManifest: options.requiresManifest, observer: options.observer,
                breaker: CircuitBreaker.Rules(
                    maximumFaults: options.maximumFaults, window: 60_000_000_000,
                    pause: options.restDuration.nanoseconds),
                dataDirectory: options.dataDirectory, shutDownDeadline: options.shutDownDeadline,
                answerDeadline: options.answerDeadline, failures: places.failures,
                warnings: places.warnings)
            for file in places.files { loader.load(file) }
            loader.checkSettings(of: places.sources, in: places.name)
            return loader
        }
        let host = PluginHost(loader, options: options)
        guard host.failures.isEmpty || options.loadPolicy == .usable else {
            host.shutDownAndWait(deadline: options.shutDownDeadline)
            throw .incomplete(host.failures)
        }
        return host
    }

    /// Loads all plugins of directories.
    ///
    /// - Parameters:
    ///   - directories: The directories, in the order in which their plugins are loaded.
    ///   - options: Settings, policies and limits.
    /// - Returns: The host with its running plugins.
    /// - Throws: ``PluginDirectoryError``, as for ``load(_:options:)``.
    public static func load(
        directories: [String], options: Options = Options()
    ) throws(PluginDirectoryError) -> PluginHost {
        try load(directories.map { .directory($0) }, options: options)
    }

    /// Loads all plugins of one directory.
    ///
    /// - Parameters:
    ///   - directory: The directory; its `*.so` files are loaded in the order of their names.
    ///   - configuration: Configuration by plugin id, each a text of a JSON object.
    ///   - observer: Receives activity, log lines and contract violations; `nil` for none.
    /// - Returns: The host with its running plugins.
    /// - Throws: ``PluginDirectoryError``, as for ``load(_:options:)`` with the default options.
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
        // Stable: plugins of the same order keep the order in which they were loaded.
        plugins = (-1...1).flatMap { order in
            loader.plugins.filter { $0.instance.descriptor.order == order }
        }
        failures = loader.failures
        skipped = loader.skipped
        disabled = loader.disabled
        warnings = loader.warnings
        running = RunningPlugins(
            loader.plugins.map(\.instance), deadline: options.shutDownDeadline.nanoseconds)
        for plugin in plugins { plugin.keep(running) }
        limit = options.answerDeadline.nanoseconds
        let hooked = HookedSession(
            plugins: plugins, running: running, limit: limit,
            maximumRetries: options.maximumRetries,
            maximumWaitingEvents: options.maximumWaitingEvents)
        interceptors = hooked.interceptors
        layers = hooked.layers
        redirectDeciders = hooked.redirectDeciders
        middleware = hooked.middleware
        eventMonitors = hooked.eventMonitors
        trusting = hooked.instances(with: .trust)
    }

    /// Returns a trust manager that calls the `trust` hooks after the checks of the session.
    ///
    /// - Parameters:
    ///   - manager: The session's trust manager, which decides first; `nil`, also as its policy
    ///     for a host, selects the default certificate checks.
    ///   - verifies: Whether the default certificate checks are made.
    /// - Returns: The trust manager; `manager` if no plugin has a `trust` hook.
    public func trustDecider(
        behind manager: (any ServerTrustDeciding)?, verifies: Bool
    ) -> (any ServerTrustDeciding)? {
        trusting.isEmpty
            ? manager
            : HookedTrust(trusting, behind: manager, verifies: verifies, keeping: running)
    }

    /// Returns a response serializer that calls a plugin's `serialize` hook.
    ///
    /// - Parameter id: The plugin's id, followed by `#` and the instance's name if it has one.
    /// - Returns: The serializer; `nil` if no such plugin is loaded, or it has no `serialize` hook.
    public func serializer(_ id: String) -> PluginSerializer? {
        plugins.first { $0.id.hasSameBytes(as: id) && $0.hooks.contains(.serialize) }.map {
            PluginSerializer($0.instance, limit: limit, keeping: running)
        }
    }

    /// Call counts, durations and violations of each plugin, in the order of ``plugins``.
    public var status: [PluginStatus] { plugins.map(\.status) }

    /// Process-wide state that has changed since the plugins were loaded, one item each: signal
    /// handlers, current directory, umask, locale, limits, environment.
    ///
    /// The program itself may have made a change; the host cannot tell who did.
    public var processChanges: [String] { process.changes }

    /// Lets plugins send their own requests through a session.
    ///
    /// `Session(plugins:)` calls it.
    ///
    /// - Parameter session: Kept weakly. A plugin's request fails when no attached session is left.
    public func attach(to session: Session) {
        for plugin in plugins { plugin.instance.sessions.add(session) }
        (session.trustDecider as? HookedTrust)?.sessions.add(session)
    }

    // MARK: Functions

    /// Calls a function that a plugin exports.
    ///
    /// Blocks until the function returns. Unless the plugin allows overlapping calls, it also waits
    /// for calls of the same instance that are running, at most as long as
    /// ``PluginHost/Options/answerDeadline``.
    ///
    /// - Parameters:
    ///   - name: `plugin-id.function`, or `plugin-id#instance.function`.
    ///   - arguments: One value for each parameter; integers are converted to the parameter's
    ///     number type.
    /// - Returns: The function's result; ``PluginValue/nothing`` where it has none.
    /// - Throws: ``PluginCallError`` when there is no such plugin or function, when the arguments
    ///   do not fit, or when the function fails.
    public func call(
        _ name: String, _ arguments: [PluginValue] = []
    ) throws(PluginCallError) -> PluginValue {
        let (caller, function) = try function(name)
        return try caller.call(function, arguments)
    }

    /// Calls a function as ``call(_:_:)`` does, but passes empty texts and bytes with a null pointer.
    package func callWithNullViews(
        _ name: String, _ arguments: [PluginValue]
    ) throws(PluginCallError) -> PluginValue {
        let (caller, function) = try function(name)
        return try caller.call(function, arguments, hasNullViews: true)
    }

    /// Calls a function with arguments given as text, as on a command line.
    ///
    /// Blocks as ``call(_:_:)`` does.
    ///
    /// - Parameters:
    ///   - name: `plugin-id.function`, or `plugin-id#instance.function`.
    ///   - arguments: One text for each parameter, parsed as the parameter's type: `true` or
    ///     `false`, numbers as in Swift, texts and bytes as they are. Requests and callbacks cannot
    ///     be given.
    /// - Returns: The function's result; ``PluginValue/nothing`` where it has none.
    /// - Throws: ``PluginCallError`` when there is no such plugin or function, when an argument
    ///   cannot be parsed, or when the function fails.
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
            throw withoutFunction(name) ?? .malformedName(name)
        }
        let (id, function) = (String(parts.head), String(parts.tail))
        guard let plugin = plugins.first(where: { $0.id.hasSameBytes(as: id) }) else {
            throw withoutFunction(name) ?? .unknownPlugin(id, known: plugins.map(\.id))
        }
        return (plugin.caller, try plugin.caller.function(named: function))
    }

    /// The error for a name that is a plugin's id; `nil` if it is none.
    private func withoutFunction(_ name: String) -> PluginCallError? {
        plugins.first { $0.id.hasSameBytes(as: name) }.map {
            .missingFunction(plugin: name, known: $0.functions.map(\.name))
        }
    }

    // MARK: The end

    /// Shuts all plugins down.
    ///
    /// The host makes no more calls, fails pending answers, and then calls `quiesce` and `destroy`
    /// of each instance.
    ///
    /// - Parameter deadline: The time limit for all plugins together. Plugins that take longer are
    ///   abandoned: never called again and never destroyed.
    /// - Returns: The ids of abandoned plugins, sorted.
    @discardableResult
    public func shutDown(deadline: Duration = .seconds(5)) async -> [String] {
        await withCheckedContinuation { continuation in
            shutDown(deadline: deadline) { continuation.resume(returning: $0) }
        }
    }

    /// As `shutDown(deadline:)-async`, but blocks the calling thread.
    ///
    /// Do not call it from a plugin's hook or from an observer: it would wait for the very call it
    /// runs in until the deadline passes.
    ///
    /// - Parameter deadline: The time limit for all plugins together. Plugins that take longer are
    ///   abandoned: never called again and never destroyed.
    /// - Returns: The ids of abandoned plugins, sorted.
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

    /// Abandons all plugins that have not ended: a shutdown that is running ends soon after.
    ///
    /// For programs whose user does not want to wait. It does not count as a violation of the
    /// plugins. Begins the shutdown if it has not begun. Returns at once.
    ///
    /// Thread: any.
    public func abandon() { running.abandon() }

    private func shutDown(
        deadline: Duration, completion: @escaping @Sendable ([String]) -> Void
    ) {
        running.shutDown(deadline: deadline.nanoseconds, completion: completion)
    }
}

extension Duration {
    /// The duration in whole nanoseconds; 0 for negative durations, `UInt64.max` for ones too long.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole.adding(UInt64(attoseconds / 1_000_000_000))
    }
}

extension HostSettings {
    /// Takes settings and configuration from a host's options.
    init(_ options: PluginHost.Options) {
        self.init(
            settings: options.settings, texts: options.configuration,
            sources: options.configurationSources)
    }
}

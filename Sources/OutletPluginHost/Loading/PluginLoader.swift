import COutletPlugin
import Dispatch
import Glibc
import OutletFiles
import OutletHTTP
import OutletSession
import OutletTransport

/// A file that may be a plugin library.
struct ListedFile {
    let path: String
    /// Whether it was found in a directory that has been checked.
    let isListed: Bool
    /// The settings of its directory; `nil` for none.
    let settings: SettingsSource?
}

/// Loads files and starts their plugins, one after the other; of plugins with the same id, the
/// first is kept.
struct PluginLoader {
    let settings: HostSettings
    let checksOwnership: Bool
    let requiresManifest: Bool
    let observer: (any PluginObserver)?
    let breaker: CircuitBreaker.Rules
    /// The directory in which data directories of plugins are created; `nil` for none.
    let dataDirectory: String?
    /// How long instances that are refused after their creation have to end.
    let shutDownDeadline: Duration
    /// The time limit for answers of hooks.
    let answerDeadline: Duration
    private(set) var plugins: [LoadedPlugin] = []
    /// The errors of plugins that are not optional.
    private(set) var failures: [PluginLoadError] = []
    /// The errors of optional plugins.
    private(set) var skipped: [PluginLoadError] = []
    /// The ids of plugins that settings disable.
    private(set) var disabled: [String] = []
    /// Problems that do not prevent loading, one line each.
    private(set) var warnings: [String] = []
    /// The plugins and instances found, to detect settings for missing ones.
    private var found: Set<Subject> = []

    private struct Subject: Hashable {
        /// The bytes of a plugin's id, or of an instance's: the id, `#` and the name.
        private let label: [UInt8]
        /// The settings file that names it; `nil` for the program's settings.
        private let file: String?

        init(label: String, file: String?) {
            self.label = Array(label.utf8)
            self.file = file
        }
    }

    private static let turn: DispatchQueue = {
        let queue = DispatchQueue(label: "outlet.plugin.loading")
        queue.setSpecific(key: isOnTurn, value: true)
        return queue
    }()
    private static let isOnTurn = DispatchSpecificKey<Bool>()
    /// The libraries that are being loaded; several when loading one loads others.
    private static let loads = Lock<[(path: String, start: UInt64)]>([])

    /// The loads that have not finished.
    static var loading: [PluginCall] {
        let loads = loads.withLock { $0 }
        // Read after the list, so that no load begins later than this time.
        let now = Stopwatch.now
        return loads.map {
            PluginCall(
                plugin: $0.path, hook: .load, duration: now - $0.start, mustReturn: true)
        }
    }

    /// Runs `body` while no other thread in this process loads plugins.
    ///
    /// Loading is serialized, so that changes of process-wide state are attributed to the right
    /// library.
    static func inTurn<Result>(_ body: () -> Result) -> Result {
        // A load inside of a load, on the same thread, is in the queue already.
        if DispatchQueue.getSpecific(key: isOnTurn) == true { return body() }
        return turn.sync(execute: body)
    }

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - dataDirectory: The directory in which data directories of plugins are created; `nil` for
    ///     none.
    ///   - shutDownDeadline: How long instances that are refused after their creation have to end.
    ///   - answerDeadline: The time limit for answers of hooks.
    ///   - failures: Errors from listing directories.
    ///   - warnings: Warnings from reading settings files.
    init(
        settings: HostSettings, checksOwnership: Bool, requiresManifest: Bool,
        observer: (any PluginObserver)?, breaker: CircuitBreaker.Rules, dataDirectory: String?,
        shutDownDeadline: Duration, answerDeadline: Duration, failures: [PluginLoadError],
        warnings: [String]
    ) {
        self.shutDownDeadline = shutDownDeadline
        self.answerDeadline = answerDeadline
        self.breaker = breaker
        self.dataDirectory = dataDirectory
        self.settings = settings
        self.checksOwnership = checksOwnership
        self.requiresManifest = requiresManifest
        self.observer = observer
        self.failures = failures
        self.warnings = warnings
    }

    /// Loads the plugins of one file; errors are added to ``failures`` or ``skipped``.
    mutating func load(_ listed: ListedFile) {
        let (path, source) = (listed.path, listed.settings)
        let start = Stopwatch.now
        var ids: [String] = []
        do throws(PluginLoadError) {
            let file = try PluginLoader.file(
                path, isListed: listed.isListed, checksOwnership: checksOwnership)
            if requiresManifest, file.manifests.isEmpty {
                throw PluginLoadError.invalidManifest(
                    path: path, reason: "there is none, and this host asks for one")
            }
            ids = file.manifests.map(\.id)
            for id in ids { note(id, in: source) }
            let refusals = file.manifests.compactMap { refusal(of: $0, source, path: path) }
            if !ids.isEmpty, refusals.count == ids.count {
                // No plugin of the library is used, so none of its code runs.
                for refusal in refusals { take(refusal) }
                return
            }
            let state = RestorableProcessState()
            let before = plugins.count
            defer { note(state.restore(), for: plugins[before...], of: path) }
            let module = try PluginLoader.module(file)
            for descriptor in module.descriptors {
                create(descriptor, of: module, source, file: file, start: start)
            }
        } catch {
            let isOptional =
                !ids.isEmpty && ids.allSatisfy { resolved($0, source)?.isOptional == true }
            fail(error, isOptional: isOptional)
        }
    }

    /// The settings of a plugin; `nil` when they are invalid.
    private func resolved(_ id: String, _ source: SettingsSource?) -> ResolvedSettings? {
        try? settings.resolve(id, file: source)
    }

    private mutating func fail(_ error: PluginLoadError, isOptional: Bool) {
        if isOptional { skipped.append(error) } else { failures.append(error) }
    }

    /// Why a plugin is not started, known from its manifest before any of its code runs.
    private enum Refusal {
        case disabled(String)
        case failed(PluginLoadError, isOptional: Bool)
    }

    private func refusal(
        of manifest: PluginManifest, _ source: SettingsSource?, path: String
    ) -> Refusal? {
        guard let settings = resolved(manifest.id, source) else { return nil }
        guard settings.isEnabled else { return .disabled(manifest.id) }
        do throws(PluginLoadError) {
            _ = try PluginLoader.decision(
                on: manifest.permissions, of: manifest.id, settings, path: path)
            return nil
        } catch {
            return .failed(error, isOptional: settings.isOptional)
        }
    }

    private mutating func take(_ refusal: Refusal) {
        switch refusal {
        case .disabled(let id): disabled.append(id)
        case .failed(let error, let isOptional): fail(error, isOptional: isOptional)
        }
    }

    /// Records that a plugin and its instances have been found.
    private mutating func note(_ id: String, in source: SettingsSource?) {
        found.insert(Subject(label: id, file: nil))
        if let source { found.insert(Subject(label: id, file: source.name)) }
        for instance in resolved(id, source)?.instances ?? [] {
            found.insert(Subject(label: instance.label, file: nil))
        }
    }

    /// Checks a file without running any of its code.
    ///
    /// - Parameter isListed: Whether the file's directory has been checked already.
    /// - Throws: ``PluginLoadError`` when the file cannot be read, is not safe, or is no valid
    ///   library.
    static func file(
        _ path: String, isListed: Bool, checksOwnership: Bool
    ) throws(PluginLoadError) -> PluginFile {
        if checksOwnership, !isListed {
            do throws(PluginLoadError) {
                try checkPlace(of: path)
            } catch {
                // What the path is says more than where it lies.
                throw PluginFile.kind(at: path).map { .notAFile(path: path, kind: $0) } ?? error
            }
        }
        return try PluginFile(path: path, checksOwnership: checksOwnership)
    }

    /// Loads a checked file; it is listed in ``loading`` meanwhile.
    static func module(_ file: PluginFile) throws(PluginLoadError) -> PluginModule {
        loads.withLock { $0.append((file.path, Stopwatch.now)) }
        defer { loads.withLock { _ = $0.removeLast() } }
        return try PluginModule(file)
    }

    private mutating func note(
        _ changes: [String], for plugins: ArraySlice<LoadedPlugin>, of path: String
    ) {
        guard !changes.isEmpty else { return }
        let fact = RestorableProcessState.fact(ofLoading: changes)
        // No plugin of the library has started.
        if plugins.isEmpty { warnings.append("\(path): \(fact)") }
        for plugin in plugins {
            plugin.instance.owner.recordViolation(.changedProcess, fact)
        }
    }

    /// Refuses a file in a directory that other users can write to.
    private static func checkPlace(of path: String) throws(PluginLoadError) {
        let directory = try PluginFile.directory(of: path)
        guard let fault = FileTrust.fault(of: directory) else { return }
        throw .unsafe(
            path: path, reason: "lies in \(fault.directory), which \(fault.reason)",
            cause: .directory)
    }

    /// Adds an error for settings of plugins that were not found.
    ///
    /// - Parameters:
    ///   - files: The settings files of directories.
    ///   - place: The directories and files that were loaded, for the text of errors in the
    ///     program's settings.
    mutating func checkSettings(of files: [SettingsSource], in place: String) {
        let known = plugins.map(\.id)
        for file in files {
            for id in file.settings.keys.sorted()
            where !found.contains(Subject(label: id, file: file.name)) {
                fail(
                    .unknownPlugin(path: file.name, id: id, known: known),
                    isOptional: file.settings[id]?.isOptional == true)
            }
        }
        for label in settings.labels where !found.contains(Subject(label: label, file: nil)) {
            fail(
                .unknownPlugin(path: settings.sources[label] ?? place, id: label, known: known),
                isOptional: settings.settings[label]?.isOptional == true)
        }
    }

    private mutating func create(
        _ descriptor: PluginDescriptor, of module: PluginModule, _ source: SettingsSource?,
        file: PluginFile, start: UInt64
    ) {
        let id = descriptor.id
        note(id, in: source)
        if let first = plugins.first(where: { $0.pluginID == id }) {
            failures.append(.duplicate(path: file.path, id: id, first: first.path))
            return
        }
        let resolved: ResolvedSettings
        do throws(InvalidSettings) {
            resolved = try settings.resolve(id, file: source)
            let violations = PluginLoader.objections(to: resolved.deadlines)
            // Those of a file fit its schema.
            if !violations.isEmpty { throw InvalidSettings(violations).from("the program") }
        } catch {
            failures.append(
                .invalidConfiguration(path: file.path, id: id, violations: error.violations))
            return
        }
        guard resolved.isEnabled else {
            disabled.append(id)
            return
        }
        do throws(PluginLoadError) {
            let grants = try grants(descriptor, resolved, path: file.path)
            try resolved.checkNeeds(
                isSingle: descriptor.isSingle, services: descriptor.requiredServices, grants,
                of: id, path: file.path)
            for settings in resolved.instances {
                let instance = try instance(
                    descriptor, in: module.library, path: file.path, settings: settings,
                    grants: grants, failsOpen: resolved.failsOpen,
                    deadlines: resolved.deadlines)
                plugins.append(
                    LoadedPlugin(
                        instance, named: settings.name, file: file, abiMinor: module.abiMinor,
                        dataDirectory: dataDirectory.map { "\($0)/\(instance.id)" },
                        loadDuration: Stopwatch.now - start))
            }
        } catch {
            fail(error, isOptional: resolved.isOptional)
        }
    }

    /// Names that are no hooks with an answer, and times that are not positive.
    static func objections(to deadlines: [String: Duration]) -> [ConfigurationViolation] {
        deadlines.sorted { $0.key < $1.key }.compactMap { name, deadline in
            let fact: String? =
                !PluginHook.answered.contains { $0.rawValue.hasSameBytes(as: name) }
                ? "no hook with a deadline"
                : deadline <= .zero ? "the deadline is not above 0" : nil
            return fact.map { ConfigurationViolation(path: "/deadlines/\(name)", fact: $0) }
        }
    }

    /// The permissions of a plugin; adds a warning for those that this host does not know.
    private mutating func grants(
        _ descriptor: PluginDescriptor, _ settings: ResolvedSettings, path: String
    ) throws(PluginLoadError) -> Grants {
        let decision = try PluginLoader.decision(
            on: descriptor.permissions, of: descriptor.id, settings, path: path)
        warnings += decision.notUnderstood.map {
            "\(path): '\(descriptor.id)' asks for something that it is not granted: \($0)"
        }
        return decision.grants
    }

    private static func decision(
        on permissions: [String], of id: String, _ settings: ResolvedSettings, path: String
    ) throws(PluginLoadError) -> PermissionDecision {
        let decision = PermissionDecision(on: permissions, by: settings.policy?.permissions)
        if let policy = settings.policy, !decision.withheld.isEmpty {
            throw .notGranted(
                path: path, id: id, permissions: decision.withheld, policy: policy.source)
        }
        return decision
    }

    private func instance(
        _ descriptor: PluginDescriptor, in library: UInt32, path: String,
        settings: ResolvedSettings.Instance, grants: Grants, failsOpen: Bool,
        deadlines: [String: Duration]
    ) throws(PluginLoadError) -> PluginInstance {
        let id = settings.label
        try settings.check(against: descriptor.configurationSchema, path: path)
        let configuration = JSONValue.object(settings.configuration.object)
        if descriptor.isSingle, !SinglePlugins.claim(descriptor.id) {
            throw .creationFailed(
                path: path, id: id, reason: "it allows one instance per process, and there is one")
        }
        let owner = PluginOwner(
            id: id, in: library, grants: grants, observer: observer, breaker: breaker)
        let instance: PluginInstance
        let hooks: Result<outlet_hooks, InvalidDescriptor>
        do throws(CreationFault) {
            let number = owner.register()
            guard number > 0 else {
                throw .failed("the process has made 65,535 instances, the most that it can")
            }
            guard let host = HostTables.make(number: number) else {
                throw .failed("there is no memory for another instance")
            }
            let pointer = try PluginLoader.create(
                descriptor, owner: owner, host: host, configuration,
                dataDirectory: try makeDataDirectory(for: id))
            hooks = owner.calling(.hooks) { PluginLoader.hooks(descriptor, pointer) }
            instance = PluginInstance(
                owner: owner, descriptor: descriptor, pointer: pointer,
                hooks: (try? hooks.get()) ?? outlet_hooks(), failsOpen: failsOpen,
                limits: .init(
                    uniqueKeysWithValues: deadlines.compactMap { name, deadline in
                        PluginHook(rawValue: name).map { ($0, deadline.nanoseconds) }
                    }),
                longestWait: answerDeadline.nanoseconds)
        } catch {
            owner.unregister()
            if descriptor.isSingle { SinglePlugins.release(descriptor.id) }
            throw error.loadError(path: path, id: id)
        }
        owner.instance = instance
        if let refusal = PluginLoader.refusal(of: instance, hooks, path: path) {
            // The owner keeps the instance until it is destroyed: it may still call `quiesced`.
            let limit = DispatchTimeInterval.nanoseconds(
                Int(clamping: shutDownDeadline.nanoseconds))
            instance.shutDown(deadline: .now() + limit) { _ in }
            throw refusal
        }
        return instance
    }

    /// Why an instance that has been created cannot be used; `nil` if it can.
    private static func refusal(
        of instance: PluginInstance, _ hooks: Result<outlet_hooks, InvalidDescriptor>,
        path: String
    ) -> PluginLoadError? {
        switch hooks {
        case .failure(let fault):
            .invalidModule(path: path, reason: "'\(instance.id)': \(fault.reason)")
        case .success(let hooks) where hooks.trust != nil && !instance.isNonblocking:
            .creationFailed(
                path: path, id: instance.id,
                reason: "its trust hook needs OUTLET_F_NONBLOCKING: all transfers wait for it")
        case .success: nil
        }
    }

    /// Creates the data directory of an instance, if it does not exist.
    ///
    /// - Returns: Its path, without symbolic links, which could lead elsewhere later; `nil` where the
    ///   host has no data directory.
    private func makeDataDirectory(
        for id: String
    ) throws(CreationFault) -> String? {
        guard let dataDirectory else { return nil }
        let resolved = try? PluginFile.directory(of: "\(dataDirectory)/\(id)")
        let path = "\(resolved ?? dataDirectory)/\(id)"
        var status = stat()
        var fault: String?
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            fault = "cannot be made: \(systemText(errno))"
        } else if lstat(path, &status) != 0 {
            fault = "cannot be examined: \(systemText(errno))"
        } else if status.st_mode & S_IFMT != S_IFDIR {
            fault = "exists, and is no directory"
        } else if checksOwnership {
            fault = objection(toDataDirectory: path, status)
        }
        guard let fault else { return path }
        throw .failed("its data directory \(path) \(fault)")
    }

    /// Checks that only the user can enter a data directory, and that nobody else can put another one
    /// in its place.
    private func objection(toDataDirectory path: String, _ status: stat) -> String? {
        if let objection = FileTrust.objection(to: status) { return "\(objection)" }
        guard status.st_mode & 0o077 == 0 else {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            return "is open to other users (mode \(mode)); chmod go-rwx"
        }
        do {
            let parent = try PluginFile.directory(of: path)
            return FileTrust.fault(of: parent, isAncestor: true).map {
                "lies in \($0.directory), which \($0.reason)"
            }
        } catch {
            return "cannot be checked: \(error)"
        }
    }

    private static func create(
        _ descriptor: PluginDescriptor, owner: PluginOwner, host: UnsafePointer<outlet_host>,
        _ configuration: JSONValue, dataDirectory: String?
    ) throws(CreationFault) -> OpaquePointer {
        guard let create = descriptor.functions.create else {
            throw .failed("'create' is null")
        }
        let context = CallContext(deadline: 0, configuration: configuration)
        var pointer: OpaquePointer?
        let status = owner.configuring(
            configuration, dataDirectory: dataDirectory, context
        ) { call, config in
            owner.calling(.create) {
                create(descriptor.table, host, call, config, &pointer)
            }
        }
        guard status == OUTLET_OK else {
            let reason = context.reason(status)
            throw .failed(reason)
        }
        guard let pointer else {
            throw .noInstance
        }
        return pointer
    }

    /// A copy of the plugin's hook table; all hooks are null when it has none.
    private static func hooks(
        _ descriptor: PluginDescriptor, _ pointer: OpaquePointer
    ) -> Result<outlet_hooks, InvalidDescriptor> {
        guard let table = descriptor.functions.hooks?(pointer) else {
            return .success(outlet_hooks())
        }
        return Result { () throws(InvalidDescriptor) in
            let hooks = try copyTable(
                table, "its hooks", size: table.pointee.struct_size, least: 120,
                empty: outlet_hooks())
            try withUnsafeBytes(of: hooks) { bytes throws(InvalidDescriptor) in
                // All fields but the first 8 bytes and the mask are functions. The system maps no code
                // below 4,096, and some such values would count as null.
                let mask = MemoryLayout<outlet_hooks>.offset(of: \.event_mask)
                for offset in stride(from: 8, to: bytes.count, by: 8) where offset != mask {
                    let address = bytes.load(fromByteOffset: offset, as: UInt.self)
                    guard address > 0, address < 4096 else { continue }
                    throw InvalidDescriptor(
                        reason: "its hooks have \(address) at byte \(offset), which is no function")
                }
            }
            return hooks
        }
    }
}

/// Why an instance could not be created.
private enum CreationFault: Error {
    case failed(PluginReason)
    /// `create` returned `OUTLET_OK` without an instance.
    case noInstance

    static func failed(_ fact: String) -> CreationFault { .failed(PluginReason(message: fact)) }

    func loadError(path: String, id: String) -> PluginLoadError {
        switch self {
        case .failed(let reason):
            .creationFailed(
                path: path, id: id, code: reason.code, reason: reason.message,
                reasonFault: reason.fault)
        case .noInstance: .noInstance(path: path, id: id)
        }
    }
}

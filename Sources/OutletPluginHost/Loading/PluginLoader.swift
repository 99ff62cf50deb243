import COutletPlugin
import Dispatch
import Glibc
import OutletHTTP
import OutletSession
import OutletTransport

/// Turns files into running plugins, one after the other; the first of an id stays.
struct PluginLoader {
    /// Configuration by plugin id, as JSON objects.
    let configuration: [String: String]
    let checksOwnership: Bool
    let requiresManifest: Bool
    let observer: (any PluginObserver)?
    private(set) var plugins: [LoadedPlugin] = []
    private(set) var failures: [PluginLoadError] = []
    private var used: Set<String> = []

    private static let turn: DispatchQueue = {
        let queue = DispatchQueue(label: "outlet.plugin.loading")
        queue.setSpecific(key: isOnTurn, value: true)
        return queue
    }()
    private static let isOnTurn = DispatchSpecificKey<Bool>()
    /// The libraries that are being loaded; more than one when loading one loads others.
    private static let loads = Lock<[(path: String, start: UInt64)]>([])

    /// The loads that have not come back.
    static var loading: [PluginCall] {
        let loads = loads.withLock { $0 }
        // Read behind the lock: no load began later.
        let now = Stopwatch.now
        return loads.map {
            PluginCall(plugin: $0.path, hook: .load, duration: now - $0.start)
        }
    }

    /// Runs `body` while nobody else in this process loads plugins.
    ///
    /// One at a time, so that what a library changes of the process is blamed on the right one.
    static func inTurn<Result>(_ body: () -> Result) -> Result {
        // Whoever loads plugins while plugins are loaded has the turn already.
        if DispatchQueue.getSpecific(key: isOnTurn) == true { return body() }
        return turn.sync(execute: body)
    }

    /// - Parameter failures: Files that cannot even be tried.
    init(
        configuration: [String: String], checksOwnership: Bool, requiresManifest: Bool,
        observer: (any PluginObserver)?, failures: [PluginLoadError]
    ) {
        self.configuration = configuration
        self.checksOwnership = checksOwnership
        self.requiresManifest = requiresManifest
        self.observer = observer
        self.failures = failures
    }

    /// Loads the plugins of one file.
    ///
    /// - Parameter isListed: Whether its directory has been checked already.
    mutating func load(_ path: String, isListed: Bool) {
        let start = Stopwatch.now
        do throws(PluginLoadError) {
            let file = try PluginLoader.file(
                path, isListed: isListed, checksOwnership: checksOwnership)
            if requiresManifest, file.manifests.isEmpty {
                throw PluginLoadError.invalidManifest(
                    path: path, reason: "there is none, and this host asks for one")
            }
            let state = ProcessState()
            let before = plugins.count
            defer { note(state.restore(), for: plugins[before...]) }
            let module = try PluginLoader.module(file)
            for descriptor in module.descriptors {
                create(descriptor, file: file, abiMinor: module.abiMinor, start: start)
            }
        } catch {
            failures.append(error)
        }
    }

    /// Checks a file; none of its code runs.
    ///
    /// - Parameter isListed: Whether its directory has been checked already.
    static func file(
        _ path: String, isListed: Bool, checksOwnership: Bool
    ) throws(PluginLoadError) -> PluginFile {
        if checksOwnership, !isListed { try checkPlace(of: path) }
        return try PluginFile(path: path, checksOwnership: checksOwnership)
    }

    /// Loads a checked file, and is among those that load until it has come back.
    static func module(_ file: PluginFile) throws(PluginLoadError) -> PluginModule {
        loads.withLock { $0.append((file.path, Stopwatch.now)) }
        defer { loads.withLock { _ = $0.removeLast() } }
        return try PluginModule(file)
    }

    private func note(_ changes: [String], for plugins: ArraySlice<LoadedPlugin>) {
        guard !changes.isEmpty else { return }
        let list = changes.joined(separator: ", ")
        for plugin in plugins {
            plugin.instance.owner.note(
                .changedProcess, "loading it changed \(list); that was put back")
        }
    }

    /// Refuses a file in a directory that others can write to.
    private static func checkPlace(of path: String) throws(PluginLoadError) {
        let directory = try PluginFile.directory(of: path)
        guard let objection = FileTrust.objection(toDirectory: directory) else { return }
        throw .unsafe(path: path, reason: "lies in a directory that \(objection)")
    }

    /// Takes note of configuration that no plugin has asked for.
    mutating func checkConfiguration(in place: String) {
        for id in configuration.keys.sorted() where !used.contains(id) {
            failures.append(.unknownPlugin(path: place, id: id, known: plugins.map(\.id)))
        }
    }

    private mutating func create(
        _ descriptor: PluginDescriptor, file: PluginFile, abiMinor: UInt32, start: UInt64
    ) {
        let id = descriptor.id
        if let first = plugins.first(where: { $0.id == id }) {
            failures.append(.duplicate(path: file.path, id: id, first: first.path))
            return
        }
        used.insert(id)
        do {
            let instance = try PluginLoader.instance(
                descriptor, path: file.path, configuration: configuration[id] ?? "{}",
                observer: observer)
            plugins.append(
                LoadedPlugin(
                    instance, file: file, abiMinor: abiMinor,
                    loadDuration: Stopwatch.now - start))
        } catch {
            failures.append(error)
        }
    }

    private static func instance(
        _ descriptor: PluginDescriptor, path: String, configuration text: String,
        observer: (any PluginObserver)?
    ) throws(PluginLoadError) -> PluginInstance {
        let id = descriptor.id
        let configuration = try checked(text, descriptor, path: path)
        if let missing = descriptor.requiredServices.first(where: {
            !HostTable.services.contains($0)
        }) {
            throw .creationFailed(
                path: path, id: id, reason: "it needs \(missing), which this host does not offer")
        }
        let isSingle = descriptor.has(flag: UInt32(OUTLET_F_PER_PROCESS))
        if isSingle, !SinglePlugins.claim(id) {
            throw .creationFailed(
                path: path, id: id, reason: "it allows one instance per process, and there is one")
        }
        let owner = PluginOwner(id: id, observer: observer)
        do throws(PluginDescriptor.Breach) {
            guard let host = HostTables.make(number: owner.register()) else {
                throw PluginDescriptor.Breach(
                    reason: "there is no memory for another instance, or there were 65,535")
            }
            let pointer = try create(
                descriptor, owner: owner, host: host, configuration)
            let instance = PluginInstance(
                owner: owner, descriptor: descriptor, pointer: pointer,
                hooks: owner.calling(.create) { hooks(descriptor, pointer) })
            owner.instance = instance
            guard instance.hooks.trust == nil || instance.isNonblocking else {
                instance.shutDown(deadline: .now() + .seconds(5)) { _ in }
                throw PluginDescriptor.Breach(
                    reason: "its trust hook needs OUTLET_F_NONBLOCKING: all transfers wait for it")
            }
            return instance
        } catch {
            owner.unregister()
            if isSingle { SinglePlugins.release(id) }
            throw .creationFailed(path: path, id: id, reason: error.reason)
        }
    }

    /// Reads a plugin's configuration, and holds it against the plugin's schema.
    private static func checked(
        _ text: String, _ descriptor: PluginDescriptor, path: String
    ) throws(PluginLoadError) -> JSONValue {
        let id = descriptor.id
        func invalid(_ violations: [ConfigurationViolation]) -> PluginLoadError {
            .invalidConfiguration(path: path, id: id, violations: violations)
        }
        let configuration: JSONValue
        do {
            configuration = try JSONValue(parsing: text, maximumDepth: 64)
        } catch {
            throw invalid([ConfigurationViolation(fact: "\(error)")])
        }
        guard configuration.objectValue != nil else {
            throw invalid([ConfigurationViolation(fact: "not a JSON object")])
        }
        let repeated = ConfigurationViolation.repeatedKeys(in: configuration)
        guard repeated.isEmpty else { throw invalid(repeated) }
        guard !descriptor.configurationSchema.isEmpty else { return configuration }
        do {
            let schema = ConfigurationSchema(text: descriptor.configurationSchema)
            let violations = try schema.violations(of: configuration)
            guard violations.isEmpty else { throw invalid(violations) }
        } catch let error as PluginLoadError {
            throw error
        } catch ConfigurationSchema.Unusable.schema(let reason) {
            throw .invalidSchema(path: path, id: id, reason: reason)
        } catch ConfigurationSchema.Unusable.value(let reason) {
            throw invalid([ConfigurationViolation(fact: reason)])
        } catch {
            throw .creationFailed(
                path: path, id: id,
                reason:
                    "its configuration cannot be checked: there is no memory or no thread for that")
        }
        return configuration
    }

    private static func create(
        _ descriptor: PluginDescriptor, owner: PluginOwner, host: UnsafePointer<outlet_host>,
        _ configuration: JSONValue
    ) throws(PluginDescriptor.Breach) -> OpaquePointer {
        guard let create = descriptor.functions.create else {
            throw PluginDescriptor.Breach(reason: "'create' is null")
        }
        let context = CallContext(deadline: 0, configuration: configuration)
        let call = HandleTable.shared.insert(context, owner: owner.number)
        defer { HandleTable.shared.remove(call) }
        var pointer: OpaquePointer?
        var text = configuration.text()
        let status = text.withUTF8 { json in
            var config = outlet_config(
                struct_size: UInt32(MemoryLayout<outlet_config>.size), reserved: 0,
                json: outlet_view(ptr: json.baseAddress, len: UInt64(json.count)))
            return owner.calling(.create) {
                create(
                    descriptor.table, host, outlet_call(id: call), &config, &pointer)
            }
        }
        guard status == OUTLET_OK else {
            throw PluginDescriptor.Breach(reason: context.reason(status).message)
        }
        guard let pointer else {
            throw PluginDescriptor.Breach(reason: "create returned OUTLET_OK without an instance")
        }
        return pointer
    }

    /// The hook table, whatever its size; all null when the plugin has none.
    private static func hooks(
        _ descriptor: PluginDescriptor, _ pointer: OpaquePointer
    ) -> outlet_hooks {
        guard let table = descriptor.functions.hooks?(pointer) else { return outlet_hooks() }
        return copyTable(
            table, size: Int(table.pointee.struct_size), empty: outlet_hooks())
    }
}

import COutletPlugin
import OutletHTTP

/// The module that the entry function of a library returned, copied and checked.
struct PluginModule {
    /// The minor ABI version it was compiled with.
    let abiMinor: UInt32
    /// The number of its library.
    let library: UInt32
    let descriptors: [PluginDescriptor]

    typealias Entry = @convention(c) (UInt32) -> UnsafePointer<outlet_module>?

    /// The maximum number of plugins in one library.
    static let largestCount = 64

    /// The ABI version of this host.
    static let abi = (major: UInt32(OUTLET_ABI_MAJOR), minor: UInt32(OUTLET_ABI_MINOR))

    /// Loads a checked file and calls its entry function.
    ///
    /// - Throws: ``PluginLoadError``.
    init(_ file: PluginFile) throws(PluginLoadError) {
        let path = file.path
        let host = PluginModule.abi
        let (entry, library) = try PluginModule.entry(of: file)
        // The module is read while crashes are attributed to the plugin: it may contain wild
        // pointers.
        let answer = PluginWatch.watching(path, in: library, "load", about: nil) {
            entry(host.minor).map { table in
                Result { () throws(InvalidDescriptor) in
                    try PluginModule.copy(table)
                }
            }
        }
        guard let answer else { throw .refused(path: path, host: host.minor) }
        let module: outlet_module
        do {
            module = try answer.get()
        } catch {
            throw error.loadError(path: path)
        }
        guard module.min_host_minor <= host.minor else {
            throw .hostTooOld(path: path, wanted: module.min_host_minor, host: host.minor)
        }
        abiMinor = module.abi_minor
        self.library = library
        do {
            descriptors = try PluginWatch.watching(path, in: library, "load", about: nil) {
                Result { () throws(InvalidDescriptor) in
                    try PluginModule.descriptors(module)
                }
            }.get()
        } catch {
            throw error.loadError(path: path)
        }
        guard !file.manifests.isEmpty else { return }
        do {
            try PluginModule.compare(
                file.manifests, descriptors, abi: "\(host.major).\(module.abi_minor)")
        } catch {
            throw .invalidManifest(path: path, reason: error.reason)
        }
    }

    /// Copies the answer of an entry function.
    static func copy(
        _ table: UnsafePointer<outlet_module>
    ) throws(InvalidDescriptor) -> outlet_module {
        try copyTable(
            table, "the module", size: table.pointee.struct_size, least: 24,
            empty: outlet_module())
    }

    /// Loads a checked file, which runs its constructors, and finds its entry function.
    ///
    /// - Returns: The function, and the number of the library.
    static func entry(
        of file: PluginFile
    ) throws(PluginLoadError) -> (entry: Entry, library: UInt32) {
        try checkEntry(of: file)
        let library: DynamicLibrary
        do {
            library = try DynamicLibrary.load(file)
        } catch {
            throw .notLoadable(path: file.path, reason: error.reason)
        }
        guard let entry = library.function("outlet_module_v1", as: Entry.self) else {
            throw .noEntryPoint(path: file.path)
        }
        return (entry, library.number)
    }

    /// Refuses a library without an entry function for this host's major version, and one with a
    /// manifest that cannot be that of its code.
    static func checkEntry(of file: PluginFile) throws(PluginLoadError) {
        let majors = file.library.entryMajors
        guard majors.contains(abi.major) else {
            throw majors.isEmpty
                ? .noEntryPoint(path: file.path)
                : .wrongABI(path: file.path, plugin: majors, host: abi.major)
        }
        do {
            for manifest in file.manifests { try manifest.check() }
        } catch {
            throw .invalidManifest(path: file.path, reason: error.reason)
        }
    }

    private static func descriptors(
        _ module: outlet_module
    ) throws(InvalidDescriptor) -> [PluginDescriptor] {
        guard let list = module.descriptors, 1...largestCount ~= Int(module.descriptor_count)
        else {
            throw InvalidDescriptor(
                reason: "\(module.descriptor_count) plugins in one library, 1 to "
                    + "\(largestCount) are possible")
        }
        var descriptors: [PluginDescriptor] = []
        for index in 0..<Int(module.descriptor_count) {
            guard let table = list[index] else {
                throw InvalidDescriptor(reason: "descriptor \(index) is null")
            }
            descriptors.append(try PluginDescriptor(table))
        }
        return descriptors
    }

    /// Refuses a manifest that differs from the code: the host decides by the manifest before the
    /// code runs.
    private static func compare(
        _ manifests: [PluginManifest], _ descriptors: [PluginDescriptor], abi: String
    ) throws(PluginManifest.Malformed) {
        for descriptor in descriptors {
            let id = descriptor.id
            guard let manifest = manifests.first(where: { $0.id.hasSameBytes(as: id) }) else {
                throw PluginManifest.Malformed(
                    reason: "it has no entry for '\(id)', which the code has")
            }
            let pairs = [
                ("version", manifest.version, descriptor.version), ("abi", manifest.abi, abi),
                (
                    "permissions", manifest.permissions.sorted().joined(separator: " "),
                    descriptor.permissions.sorted().joined(separator: " ")
                ),
            ]
            for (what, manifest, code) in pairs where !manifest.hasSameBytes(as: code) {
                throw PluginManifest.Malformed(
                    reason:
                        "'\(id)' has the \(what) \(String(reflecting: manifest)) there, and "
                        + "\(String(reflecting: code)) in the code")
            }
        }
        for manifest in manifests
        where !descriptors.contains(where: { $0.id.hasSameBytes(as: manifest.id) }) {
            throw PluginManifest.Malformed(
                reason:
                    "it has an entry for \(String(reflecting: manifest.id)), which the code does not have"
            )
        }
    }
}

extension InvalidDescriptor {
    /// The error of loading the plugin's library.
    fileprivate func loadError(path: String) -> PluginLoadError {
        isSignature
            ? .invalidSignature(path: path, reason: reason)
            : .invalidModule(path: path, reason: reason)
    }
}

import COutletPlugin

/// Calls the entry function of a library as hosts of other minor ABI versions would.
package struct ModuleProbe {
    /// The answer of an entry function.
    package struct Answer: Equatable {
        /// The address of the module table; 0 for a refusal.
        package let address: UInt
        /// The oldest minor ABI version of hosts that the module works with.
        package let minimumHostMinor: UInt32
        /// The minor ABI version that the module was compiled with.
        package let abiMinor: UInt32
        /// The addresses of the plugin descriptors; at most 64.
        package let descriptors: [UInt]
        /// What the descriptors contain; empty for one that cannot be read.
        fileprivate let contents: [[String]]
    }

    private let entry: PluginModule.Entry

    /// The minor ABI version of this host.
    package static var hostMinor: UInt32 { PluginModule.abi.minor }

    /// Loads a library, which stays mapped, without calling its entry function.
    ///
    /// - Parameter path: The path of the library.
    /// - Throws: ``PluginLoadError`` when the file is not safe, is no plugin library or cannot be
    ///   loaded.
    package init(path: String) throws(PluginLoadError) {
        let file = try PluginLoader.file(path, isListed: false, checksOwnership: true)
        entry = try PluginModule.entry(of: file).entry
    }

    /// Calls the entry function.
    ///
    /// - Parameter hostMinor: The minor ABI version to pass.
    /// - Returns: The answer; all zero when the entry function returns null, or a
    ///   structure of an impossible size.
    package func ask(hostMinor: UInt32) -> Answer {
        guard let table = entry(hostMinor), let module = try? PluginModule.copy(table) else {
            return Answer(
                address: 0, minimumHostMinor: 0, abiMinor: 0, descriptors: [], contents: [])
        }
        let count = min(Int(module.descriptor_count), 64)
        let descriptors = (0..<count).compactMap { index in
            module.descriptors?[index].map { UInt(bitPattern: $0) }
        }
        let contents = (0..<count).map { Self.contents(module.descriptors?[$0]) }
        return Answer(
            address: UInt(bitPattern: table), minimumHostMinor: module.min_host_minor,
            abiMinor: module.abi_minor, descriptors: descriptors, contents: contents)
    }

    private static func contents(_ table: UnsafePointer<outlet_descriptor>?) -> [String] {
        guard let table, let descriptor = try? PluginDescriptor(table) else { return [] }
        var functions = descriptor.functions
        // For use by the plugin, which may change what it points to, and the pointer.
        functions.data = nil
        return [
            withUnsafeBytes(of: functions) { "\(Array($0))" }, descriptor.id, descriptor.version,
            descriptor.name, descriptor.summary, descriptor.vendor, descriptor.url,
            descriptor.configurationSchema,
        ] + descriptor.permissions + descriptor.requiredServices
            + descriptor.exports.flatMap { [$0.name, "\($0.signature)"] }
    }
}

import COutletPlugin

/// The entry of a library, asked as hosts of other minors ask it.
package struct ModuleProbe {
    /// What an entry answered.
    package struct Answer: Equatable {
        /// Where the module is; 0 for a refusal.
        package let address: UInt
        /// The oldest host that it works with.
        package let minimumHostMinor: UInt32
        /// The minor that it was compiled with.
        package let abiMinor: UInt32
        /// How many plugins there are, and where their descriptors are.
        package let descriptors: [UInt]
    }

    private let entry: PluginModule.Entry

    /// The minor of this host.
    package static var hostMinor: UInt32 { PluginModule.abi.minor }

    /// Loads a library for good, without looking at what its entry answers.
    package init(path: String) throws(PluginLoadError) {
        let file = try PluginLoader.file(path, isListed: false, checksOwnership: true)
        entry = try PluginModule.entry(of: file)
    }

    /// Asks the entry, as a host of that minor.
    package func ask(hostMinor: UInt32) -> Answer {
        guard let table = entry(hostMinor) else {
            return Answer(address: 0, minimumHostMinor: 0, abiMinor: 0, descriptors: [])
        }
        let module = copyTable(
            table, size: Int(table.pointee.struct_size), empty: outlet_module())
        let count = min(Int(module.descriptor_count), 64)
        let descriptors = (0..<count).compactMap { index in
            module.descriptors?[index].map { UInt(bitPattern: $0) }
        }
        return Answer(
            address: UInt(bitPattern: table), minimumHostMinor: module.min_host_minor,
            abiMinor: module.abi_minor, descriptors: descriptors)
    }
}

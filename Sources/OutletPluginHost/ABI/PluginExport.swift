import COutletPlugin

/// A function of a plugin's, as its descriptor offers it.
final class PluginExport: Sendable {
    let name: String
    let signature: Signature
    let summary: String
    let flags: UInt32
    let function: @convention(c) () -> Void

    var isCallableAnywhere: Bool { flags & UInt32(OUTLET_X_ANY_THREAD) != 0 }

    /// Reads and checks what a descriptor offers.
    static func all(
        _ descriptor: outlet_descriptor, plugin: String
    ) throws(PluginDescriptor.Breach) -> [PluginExport] {
        guard descriptor.export_count > 0 else { return [] }
        guard descriptor.export_count <= 1024, let list = descriptor.exports else {
            throw PluginDescriptor.Breach(
                reason: "'\(plugin)' has \(descriptor.export_count) exports, of which none can be "
                    + "read")
        }
        var exports: [PluginExport] = []
        for index in 0..<Int(descriptor.export_count) {
            guard let table = list[index] else {
                throw PluginDescriptor.Breach(reason: "'\(plugin)': export \(index) is null")
            }
            let export = try PluginExport(table, plugin: plugin)
            guard !exports.contains(where: { $0.name == export.name }) else {
                throw PluginDescriptor.Breach(
                    reason: "'\(plugin)' exports two functions '\(export.name)'")
            }
            exports.append(export)
        }
        return exports
    }

    private init(
        _ table: UnsafePointer<outlet_export>, plugin: String
    ) throws(PluginDescriptor.Breach) {
        let copy = copyTable(
            table, size: Int(table.pointee.struct_size), empty: outlet_export())
        name = try text(copy.name, "export", limit: 128)
        guard PluginExport.isName(name) else {
            throw PluginDescriptor.Breach(
                reason: "'\(plugin)': the export \(String(reflecting: name)) is not made of "
                    + "letters, digits, '-' and '_'")
        }
        let signature = try text(copy.signature, "signature", limit: 64)
        do {
            self.signature = try Signature(signature)
        } catch {
            throw PluginDescriptor.Breach(
                reason: "'\(plugin).\(name)': signature \(String(reflecting: signature)): "
                    + error.reason)
        }
        summary = try text(copy.summary, "summary", limit: 1024)
        guard let function = copy.function else {
            throw PluginDescriptor.Breach(reason: "'\(plugin).\(name)': 'function' is null")
        }
        self.function = function
        flags = copy.flags
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

import COutletPlugin

/// A function that a plugin's descriptor exports.
final class PluginExport: Sendable {
    let name: String
    let signature: Signature
    let summary: String
    let flags: UInt32
    /// The function; its real type is given by ``signature``.
    let function: @convention(c) () -> Void

    /// Whether the function may be called on any thread, also while hooks and other exports of the
    /// instance run (`OUTLET_X_ANY_THREAD`).
    var isCallableAnywhere: Bool { flags & UInt32(OUTLET_X_ANY_THREAD) != 0 }

    /// Reads and checks the exports of a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - plugin: The plugin's id, for errors.
    /// - Returns: At most 1024 exports with different names.
    /// - Throws: `InvalidDescriptor` if there are too many or one is not valid.
    static func all(
        _ descriptor: outlet_descriptor, plugin: String
    ) throws(InvalidDescriptor) -> [PluginExport] {
        guard descriptor.export_count > 0 else { return [] }
        guard descriptor.export_count <= 1024, let list = descriptor.exports else {
            throw InvalidDescriptor(
                reason: "'\(plugin)' has \(descriptor.export_count) exports, which cannot be "
                    + "read")
        }
        var exports: [PluginExport] = []
        for index in 0..<Int(descriptor.export_count) {
            guard let table = list[index] else {
                throw InvalidDescriptor(reason: "'\(plugin)': export \(index) is null")
            }
            let export = try PluginExport(table, plugin: plugin)
            guard !exports.contains(where: { $0.name == export.name }) else {
                throw InvalidDescriptor(
                    reason: "'\(plugin)' exports two functions '\(export.name)'")
            }
            exports.append(export)
        }
        return exports
    }

    private init(
        _ table: UnsafePointer<outlet_export>, plugin: String
    ) throws(InvalidDescriptor) {
        let copy = try copyTable(
            table, "an export of '\(plugin)'", size: table.pointee.struct_size,
            least: 64, empty: outlet_export())
        name = try text(copy.name, "export", limit: 128)
        guard PluginExport.isName(name) else {
            throw InvalidDescriptor(
                reason: "'\(plugin)': the export \(String(reflecting: name)) is not made of "
                    + "letters, digits, '-' and '_'")
        }
        let signature = try text(copy.signature, "signature", limit: 64)
        do {
            self.signature = try Signature(signature)
        } catch {
            throw InvalidDescriptor(
                reason: "'\(plugin).\(name)': signature \(String(reflecting: signature)): "
                    + error.reason, isSignature: true)
        }
        summary = try text(copy.summary, "summary", limit: 1024)
        guard let function = copy.function else {
            throw InvalidDescriptor(reason: "'\(plugin).\(name)': 'function' is null")
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

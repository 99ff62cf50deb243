import COutletPlugin

/// One plugin of a module: texts are copied and checked, function pointers are used as they are.
struct PluginDescriptor: @unchecked Sendable {
    // @unchecked because the C descriptor is constant and its library is never unmapped.

    /// The C descriptor in the library.
    let table: UnsafePointer<outlet_descriptor>
    /// A copy of the C descriptor, with null for fields that the plugin was compiled without.
    let functions: outlet_descriptor
    let id: String
    let version: String
    let name: String
    let summary: String
    let vendor: String
    let url: String
    let configurationSchema: String
    let permissions: [String]
    let exports: [PluginExport]
    /// The services without which the plugin cannot be used.
    let requiredServices: [String]
    /// The position of the plugin's hooks among those of other plugins: -1, 0 or 1.
    let order: Int32

    /// The maximum length of an id, in bytes.
    static let longestID = 128
    /// The maximum length of a version, in bytes.
    static let longestVersion = 64
    /// The maximum length of a text in a list, such as a permission, in bytes.
    static let longestText = 256
    /// The maximum number of texts in a list.
    static let mostTexts = 64

    func has(flag: UInt32) -> Bool { functions.flags & flag != 0 }

    /// Whether a process may have only one instance.
    var isSingle: Bool { has(flag: UInt32(OUTLET_F_PER_PROCESS)) }

    /// Reads and checks a descriptor.
    ///
    /// - Parameter table: The descriptor. It may be smaller than the host's structure, if the
    ///   plugin was compiled with an older header; fields beyond its end count as null.
    /// - Throws: ``InvalidDescriptor`` if the size is not that of a descriptor, a required field is
    ///   missing, or a value is not valid.
    init(_ table: UnsafePointer<outlet_descriptor>) throws(InvalidDescriptor) {
        let copy = try copyTable(
            table, "a descriptor", size: table.pointee.struct_size, least: 232,
            empty: outlet_descriptor())
        id = try text(copy.id, "id", limit: UInt64(Self.longestID))
        guard PluginDescriptor.isID(id) else {
            throw InvalidDescriptor(
                reason: "the id \(String(reflecting: id)) \(PluginDescriptor.idRefusal)")
        }
        version = try text(copy.version, "version", limit: UInt64(Self.longestVersion))
        guard !version.isEmpty else { throw InvalidDescriptor(reason: "'\(id)' has no version") }
        let name = try text(copy.name, "name", limit: 256)
        self.name = name.isEmpty ? id : name
        summary = try text(copy.summary, "summary", limit: 1024)
        vendor = try text(copy.vendor, "vendor", limit: 256)
        url = try text(copy.url, "url", limit: 1024)
        configurationSchema = try text(copy.config_schema, "config_schema", limit: 1 << 20)
        guard copy.create != nil else {
            throw InvalidDescriptor(reason: "'\(id)': 'create' is null")
        }
        guard copy.destroy != nil else {
            throw InvalidDescriptor(reason: "'\(id)': 'destroy' is null")
        }
        permissions = try PluginDescriptor.texts(
            copy.permissions, copy.permission_count, "permission")
        requiredServices = try PluginDescriptor.texts(
            copy.required_services, copy.required_service_count, "required service")
        guard -1...1 ~= copy.order else {
            throw InvalidDescriptor(
                reason: "'\(id)' has the order \(copy.order), which does not exist")
        }
        order = copy.order
        exports = try PluginExport.all(copy, plugin: id)
        functions = copy
        self.table = table
    }

    /// Copies a list of at most ``mostTexts`` texts.
    private static func texts(
        _ list: UnsafePointer<outlet_view>?, _ count: UInt64, _ what: String
    ) throws(InvalidDescriptor) -> [String] {
        guard count > 0 else { return [] }
        guard count <= UInt64(mostTexts), let list else {
            throw InvalidDescriptor(reason: "\(count) \(what)s, which cannot be read")
        }
        var texts: [String] = []
        for index in 0..<Int(count) {
            texts.append(try text(list[index], what, limit: UInt64(longestText)))
        }
        return texts
    }

    /// Whether a text may be the id of a plugin, apart from its length.
    ///
    /// Without empty parts it is neither hidden nor another directory where it names a file.
    static func isID(_ id: String) -> Bool {
        id.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                            true
                        default: false
                        }
                    }
            }
    }

    /// Why a text is not an id (``isID(_:)``).
    static let idRefusal =
        "is not made of lower-case letters, digits and '-', with a '.' between parts"
}

/// A violation of the plugin interface by a descriptor.
struct InvalidDescriptor: Error {
    let reason: String
    /// Whether it is the signature of an exported function.
    var isSignature = false
}

/// Copies a C structure that the plugin may have compiled with fewer or more fields than the host.
///
/// - Parameters:
///   - table: The plugin's structure.
///   - what: What it is, for the error.
///   - size: The size of the plugin's structure, in bytes (`struct_size`).
///   - least: The size of the structure in minor version 0, in bytes.
///   - empty: The values of fields that the plugin's structure does not have.
/// - Returns: The copy, without the fields that the host does not know.
/// - Throws: `InvalidDescriptor` if the size cannot be that of the structure: less than in minor
///   version 0, more than 65,536, or one that ends inside of a field, of which each is 8 bytes long
///   or shares 8 bytes.
func copyTable<Table>(
    _ table: UnsafePointer<Table>, _ what: String, size: UInt32, least: UInt32, empty: Table
) throws(InvalidDescriptor) -> Table {
    guard least...65_536 ~= size, size.isMultiple(of: 8) else {
        throw InvalidDescriptor(
            reason: "the struct_size of \(what) is \(size), not its size in bytes, which is at "
                + "least \(least)")
    }
    var copy = empty
    withUnsafeMutableBytes(of: &copy) { target in
        let count = min(Int(size), target.count)
        target.copyMemory(from: UnsafeRawBufferPointer(start: table, count: count))
    }
    return copy
}

/// Copies a text of a descriptor.
///
/// - Parameters:
///   - view: The text.
///   - what: The name of the field, for the error.
///   - limit: The maximum length, in bytes.
/// - Returns: The text; empty if its length is 0.
/// - Throws: `InvalidDescriptor` if the text is too long, null or not UTF-8.
func text(
    _ view: outlet_view, _ what: String, limit: UInt64
) throws(InvalidDescriptor) -> String {
    guard view.len > 0 else { return "" }
    guard view.len <= limit else {
        throw InvalidDescriptor(
            reason: "'\(what)' has \(view.len) bytes, at most \(limit) are allowed")
    }
    guard let bytes = view.ptr else {
        throw InvalidDescriptor(reason: "'\(what)' is null, but has a length")
    }
    // A copy is checked, because a thread that a constructor has started may change the bytes.
    let copy = Array(UnsafeBufferPointer(start: bytes, count: Int(view.len)))
    guard let text = String(validating: copy, as: UTF8.self) else {
        throw InvalidDescriptor(reason: "'\(what)' is not UTF-8")
    }
    return text
}

import OutletPluginKit
import Testing

/// The tables that a library returns to the host.
@Suite struct PluginModuleTests {
    @Test func `a library has a descriptor for each of its plugins`() throws {
        let module = PluginModule(First.self, Second.self).table.pointee
        let descriptors = UnsafeBufferPointer(
            start: module.descriptors, count: Int(module.descriptor_count))
        let ids = try descriptors.map { entry in
            let view = try #require(entry).pointee.id
            return String(
                decoding: UnsafeBufferPointer(start: view.ptr, count: Int(view.len)), as: UTF8.self)
        }
        #expect(ids == ["com.example.first", "com.example.second"])
    }
}

private struct First: Plugin {
    static let info = PluginInfo(id: "com.example.first", version: "1.0.0")

    init(host: Host, configuration: Configuration) throws {}
}

private struct Second: Plugin {
    static let info = PluginInfo(id: "com.example.second", version: "1.0.0")

    init(host: Host, configuration: Configuration) throws {}
}

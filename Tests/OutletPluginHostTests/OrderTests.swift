import OutletPluginHost
import OutletTestSupport
import Testing

/// The order of plugins and the services they need, as their descriptors declare them.
@Suite struct OrderTests {
    private func code(_ id: String, _ fields: String) -> String {
        """
        static const outlet_view needs[] = {OUTLET_TEXT("example.clock/1")};
        static const outlet_descriptor descriptor = {DESCRIPTOR("\(id)"), \(fields)};
        __attribute__((unused)) static const outlet_view *unused = needs;
        OUTLET_MODULE(descriptor)
        """
    }

    @Test func `plugins are ordered by their declared order, then by file name`()
        async throws
    {
        let folder = try PluginFolder()
        try await folder.compile(code("a.last", ".order = OUTLET_ORDER_LAST"), as: "a.so")
        try await folder.compile(code("b.normal", ".order = OUTLET_ORDER_NORMAL"), as: "b.so")
        try await folder.compile(code("c.normal", ".flags = 0"), as: "c.so")
        try await folder.compile(code("d.first", ".order = OUTLET_ORDER_FIRST"), as: "d.so")
        let host = try folder.load()
        #expect(host.plugins.map(\.id) == ["d.first", "b.normal", "c.normal", "a.last"])
    }

    @Test func `plugins are in the order of the directories and files that they come from`()
        async throws
    {
        let (one, two, three) = (try PluginFolder(), try PluginFolder(), try PluginFolder())
        try await one.compile(code("a.file", ".flags = 0"), as: "a.so")
        try await two.compile(code("b.listed", ".flags = 0"), as: "b.so")
        try await two.compile(code("a.listed", ".flags = 0"), as: "c.so")
        try await three.compile(code("c.file", ".flags = 0"), as: "d.so")
        let places: [PluginPlace] = [
            .file(three.directory.path("d.so")), .directory(two.path),
            .file(one.directory.path("a.so")),
        ]
        let ids = ["c.file", "b.listed", "a.listed", "a.file"]
        #expect(try PluginHost.load(places).plugins.map(\.id) == ids)
        #expect(try PluginHost.load(places.reversed()).plugins.first?.id == "a.file")
        let paths = [
            three.directory.path("d.so"), two.directory.path("b.so"), two.directory.path("c.so"),
            one.directory.path("a.so"),
        ]
        #expect(try PluginInspection(places).files.map(\.path) == paths)
    }

    @Test func `an undefined order is refused`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(code("a.odd", ".order = 2"), as: "a.so")
        let host = try folder.load()
        #expect(host.plugins.isEmpty)
        #expect(host.failures.first?.description.contains("'a.odd' has the order 2") == true)
    }

    @Test func `a plugin that needs an unknown service is not created`() async throws {
        let folder = try PluginFolder()
        let needs = ".required_services = needs, .required_service_count = 1"
        try await folder.compile(code("a.needy", needs), as: "a.so")
        let host = try folder.load()
        #expect(host.plugins.isEmpty)
        let text = host.failures.first?.description
        #expect(
            text?.contains("it needs example.clock/1, which this host does not offer") == true)
    }
}

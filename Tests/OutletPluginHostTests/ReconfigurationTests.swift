import FoundationEssentials
import Glibc
import OutletTestSupport
import Testing

@testable import OutletPluginHost

/// Changing the configuration of a running plugin, and the plugin's data directory.
@Suite struct ReconfigurationTests {
    private let folder: PluginFolder

    init() throws { folder = try PluginFolder(faulty: "Reconfigured") }

    private func load(_ change: (inout PluginHost.Options) -> Void = { _ in }) throws -> PluginHost
    {
        var options = PluginHost.Options()
        options.configuration["faulty.reconfigured"] = #"{"word":"first"}"#
        change(&options)
        return try PluginHost.load(directories: [folder.path], options: options)
    }

    @Test func `a running plugin accepts a new configuration`() throws {
        let host = try load()
        let plugin = try #require(host.plugins.first)
        #expect(try plugin.call("word") == .text("first"))
        try plugin.reconfigure(#"{"word":"second"}"#)
        #expect(try plugin.call("word") == .text("second"))
        // The new configuration replaces the old one: missing keys are not kept.
        try plugin.reconfigure("{}")
        #expect(try plugin.call("word") == .text("none"))
        #expect(host.status.first?.hooks["reconfigure"]?.calls == 2)
    }

    @Test(arguments: [
        (#"{"word":7}"#, "/word"), (#"{"wort":"a"}"#, "/"), ("[]", "not a JSON object"),
        (#"{"word":"a","word":"b"}"#, "the key 'word' is there twice"), ("{", ""),
    ])
    func `a configuration that breaks the schema is refused without calling the plugin`(
        text: String, fact: String
    ) throws {
        let host = try load()
        let plugin = try #require(host.plugins.first)
        let error = try #require(throws: PluginLoadError.self) { try plugin.reconfigure(text) }
        #expect("\(error)".contains(fact))
        #expect(try plugin.call("word") == .text("first"))
        #expect(plugin.status.hooks["reconfigure"] == nil)
        withExtendedLifetime(host) {}
    }

    @Test func `a plugin that refuses a configuration gives a reason and keeps the old one`() throws
    {
        let host = try load()
        let plugin = try #require(host.plugins.first)
        let error = try #require(throws: PluginError.self) {
            try plugin.reconfigure(#"{"word":"bad"}"#)
        }
        #expect(error.hook == .reconfigure && error.code == "bad-word")
        #expect(error.message == "not that word")
        #expect(try plugin.call("word") == .text("first"))
        withExtendedLifetime(host) {}
    }

    @Test func `reconfiguring a plugin without the reconfigure hook is an error`() throws {
        let host = try PluginFolder(faulty: "SettlesTwice").load()
        let error = try #require(throws: PluginError.self) {
            try host.plugins.first?.reconfigure("{}")
        }
        #expect("\(error)".contains("it takes no other configuration while it runs"))
        withExtendedLifetime(host) {}
    }

    @Test func `each instance has its own data directory with mode 700`() throws {
        let place = try TemporaryDirectory()
        let host = try load { $0.dataDirectory = place.path }
        let path = place.path + "/faulty.reconfigured"
        #expect(try host.call("faulty.reconfigured.directory") == .text(path))
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o700)
        // The next load accepts the directory that exists.
        #expect(try load { $0.dataDirectory = place.path }.plugins.count == 1)
    }

    @Test func `the path of a data directory has no links, which could be replaced`() throws {
        let place = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: place.path("real"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: place.path("link"), withDestinationPath: place.path("real"))
        let host = try load { $0.dataDirectory = place.path("link") }
        let path = place.path("real/faulty.reconfigured")
        #expect(try host.call("faulty.reconfigured.directory") == .text(path))
    }

    @Test func `a data directory that cannot be created fails the load`() throws {
        let place = try TemporaryDirectory()
        let error = try #require(throws: PluginDirectoryError.self) {
            try load { $0.dataDirectory = place.path + "/gone" }
        }
        #expect(
            "\(error)".contains(
                "its data directory \(place.path)/gone/faulty.reconfigured cannot be made: "))
    }

    @Test(arguments: ["file", "link", "open", "entered", "parent"])
    func `what exists in place of a data directory is refused unless it is safe`(
        kind: String
    ) throws {
        let place = try TemporaryDirectory()
        let path = place.path + "/faulty.reconfigured"
        switch kind {
        case "file": try place.write("", to: "faulty.reconfigured")
        case "link":
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: place.path)
        case "open": #expect(mkdir(path, 0o700) == 0 && chmod(path, 0o777) == 0)
        case "entered": #expect(mkdir(path, 0o700) == 0 && chmod(path, 0o750) == 0)
        default: #expect(mkdir(path, 0o700) == 0 && chmod(place.path, 0o777) == 0)
        }
        let error = try #require(throws: PluginDirectoryError.self) {
            try load { $0.dataDirectory = place.path }
        }
        let writable = "is writable by all users (mode 777); chmod go-w"
        let fact =
            switch kind {
            case "open": writable
            case "entered": "is open to other users (mode 750); chmod go-rwx"
            case "parent": "lies in \(place.path), which \(writable)"
            default: "exists, and is no directory"
            }
        #expect("\(error)".contains("its data directory \(path) \(fact)"))
    }

    @Test func `without a dataDirectory option an instance has no directory`() throws {
        #expect(try load().call("faulty.reconfigured.directory") == .text(""))
    }
}

import FoundationEssentials
import Glibc

@testable import OutletHTTP
@testable import OutletPluginHost

/// Parsers of a plugin's file, schema, settings and signatures, which run before its code does.
let pluginTargets: [FuzzTarget] = [
    FuzzTarget("elf") { data in
        // `FileBytes` reads from a descriptor, so the bytes go to an unnamed temporary file.
        guard let stream = tmpfile() else { return }
        defer { fclose(stream) }
        let descriptor = fileno(stream)
        let count = data.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count == data.count else { return }
        let file = FileBytes(descriptor: descriptor, size: UInt64(count))
        do {
            let library = try ELFLibrary(file)
            try expect(library.otherSymbols.count <= 8, "\(library.otherSymbols.count) examples")
            if let manifest = library.manifest { _ = try? PluginManifest.all(in: manifest) }
        } catch is ELFLibrary.Problem {
        }
    },
    FuzzTarget("manifest") { data in
        guard let manifests = try? PluginManifest.all(in: Array(data)) else { return }
        let again = try PluginManifest.all(in: [0] + Array(data) + [0, 0])
        try expect(again == manifests, "padding makes another manifest")
        try expect(Set(manifests.map(\.id)).count == manifests.count, "an id is there twice")
        for manifest in manifests { try? manifest.check() }
    },
    // The input is a schema, a zero byte, and the JSON text to validate with the schema.
    FuzzTarget("schema") { data in
        let parts = data.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        let schema = ConfigurationSchema(text: Data(parts[0]).text)
        guard (try? schema.check()) != nil, let value = parts.last.map({ Data($0).text }),
            let value = try? JSONValue(parsing: value),
            let found = try? schema.violations(of: value)
        else { return }
        try expect(found.count <= 101, "\(found.count) violations")
        for violation in found {
            try expect(!violation.fact.isEmpty, "a violation says nothing")
            try expect(violation.fact.utf8.count < 10_000, "a violation says too much")
        }
    },
    FuzzTarget("settings") { data in
        guard let settings = try? SettingsFile.settings(Array(data)) else { return }
        try expect(settings.count <= 1000, "\(settings.count) plugins")
        for (id, plugin) in settings {
            try expect(!id.isEmpty && id.utf8.count <= 128, "the id \(id)")
            try expect(plugin.instances.count <= 64, "\(plugin.instances.count) instances")
            try expect(plugin.deadlines.values.allSatisfy { $0 > .zero }, "\(plugin.deadlines)")
        }
    },
    FuzzTarget("signature") { data in
        guard let signature = try? Signature(data.text) else { return }
        try expect(signature.description.hasSameBytes(as: data.text), "\(signature)")
        try expect(try Signature(signature.description) == signature, "\(signature)")
        try expect(signature.arguments.count <= Signature.maximumArguments, "\(signature)")
    },
]

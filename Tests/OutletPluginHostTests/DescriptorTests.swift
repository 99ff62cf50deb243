import COutletPlugin
import Testing

@testable import OutletPluginHost

/// Reading the C descriptor of a plugin.
@Suite struct DescriptorTests {
    /// Calls `body` with a C view of a text, which is valid during the call.
    private func view<Result>(of text: String, _ body: (outlet_view) throws -> Result) rethrows
        -> Result
    {
        try Array(text.utf8).withUnsafeBufferPointer {
            try body(outlet_view(ptr: $0.baseAddress, len: UInt64($0.count)))
        }
    }

    @Test func `a text up to its limit is accepted`() throws {
        let longest = String(repeating: "a", count: 128)
        #expect(try view(of: longest) { try text($0, "id", limit: 128) } == longest)
        let error = #expect(throws: InvalidDescriptor.self) {
            try view(of: longest + "a") { _ = try text($0, "id", limit: 128) }
        }
        #expect(error?.reason == "'id' has 129 bytes, at most 128 are allowed")
    }

    @Test(
        arguments: [
            ("a-B_9", nil), ("a.b", "a.b"), ("a b", "a b"), ("", ""), ("é", "é"),
            ("a\u{1B}", "a\u{1B}"),
        ] as [(String, String?)])
    func `an export's name may only have letters, digits, hyphens and underscores`(
        name: String, refused: String?
    ) throws {
        func all() throws -> [PluginExport] {
            try view(of: name) { name in
                try view(of: "v()") { signature in
                    var export = outlet_export()
                    export.struct_size = UInt32(MemoryLayout<outlet_export>.size)
                    export.name = name
                    export.signature = signature
                    export.function = {}
                    return try withUnsafePointer(to: export) { export in
                        try withUnsafePointer(to: Optional(export)) { list in
                            var descriptor = outlet_descriptor()
                            descriptor.export_count = 1
                            descriptor.exports = list
                            return try PluginExport.all(descriptor, plugin: "a.test")
                        }
                    }
                }
            }
        }
        guard let refused else {
            #expect(try all().map(\.name) == [name])
            return
        }
        let error = #expect(throws: InvalidDescriptor.self) { _ = try all() }
        #expect(
            error?.reason
                == "'a.test': the export \(String(reflecting: refused)) is not made of letters, "
                + "digits, '-' and '_'")
    }

    @Test(arguments: [64, 65])
    func `a plugin may ask for at most 64 permissions`(count: Int) throws {
        func permissions() throws -> [String] {
            try view(of: "a.test") { text in
                try Array(repeating: text, count: count).withUnsafeBufferPointer { list in
                    var descriptor = outlet_descriptor()
                    descriptor.struct_size = UInt32(MemoryLayout<outlet_descriptor>.size)
                    descriptor.id = text
                    descriptor.version = text
                    descriptor.create = { _, _, _, _, _ in OUTLET_E_FAILED }
                    descriptor.destroy = { _ in }
                    descriptor.permissions = list.baseAddress
                    descriptor.permission_count = UInt64(count)
                    return try withUnsafePointer(to: descriptor) {
                        try PluginDescriptor($0).permissions
                    }
                }
            }
        }
        guard count > 64 else {
            #expect(try permissions().count == count)
            return
        }
        let error = #expect(throws: InvalidDescriptor.self) { _ = try permissions() }
        #expect(error?.reason == "65 permissions, which cannot be read")
    }

    @Test(arguments: [
        ("[]", nil), (#"["net:a.example"]"#, nil),
        (#"["net:a.example", 1]"#, "\"permissions\" holds something that is not a string"),
        ("[null]", "\"permissions\" holds something that is not a string"),
        (#""net:a.example""#, "\"permissions\" is missing, or not an array"),
    ])
    func `a manifest's permissions must be strings`(permissions: String, reason: String?) {
        let text = #"{"id": "a.b", "version": "1", "abi": "1.0", "permissions": \#(permissions)}"#
        do {
            _ = try PluginManifest.all(in: Array(text.utf8))
            #expect(reason == nil)
        } catch {
            #expect(error.reason == reason)
        }
    }

    @Test func `an error in one of several manifests names the entry`() {
        let whole = #"{"id": "a.b", "version": "1", "abi": "1.0", "permissions": []}"#
        let partial = #"{"id": "a.c", "version": "1", "permissions": []}"#
        for (text, reason) in [
            (partial, #""abi" is missing"#),
            ("\(whole)\0\(partial)", #"entry 2: "abi" is missing"#),
        ] {
            let error = #expect(throws: PluginManifest.Malformed.self) {
                try PluginManifest.all(in: Array(text.utf8))
            }
            #expect(error?.reason == reason)
        }
    }

    private func refusal(of manifest: String) -> String? {
        do {
            for manifest in try PluginManifest.all(in: Array(manifest.utf8)) {
                try manifest.check()
            }
            return nil
        } catch {
            return error.reason
        }
    }

    private static let longest = String(repeating: "a", count: 128)

    @Test(
        arguments: [
            ("a-b.9", nil), (longest, nil), (longest + "a", "has more than 128 bytes"),
        ] as [(String, String?)]
            + ["", "A.b", "a#b", ".", "..", "a..b", ".a", "a."].map {
                ($0, "is not made of lower-case letters, digits and '-', with a '.' between parts")
            })
    func `a manifest's id is one that a descriptor may have`(id: String, fact: String?) {
        let reason = refusal(
            of: #"{"id": "\#(id)", "version": "1", "abi": "1.0", "permissions": []}"#)
        #expect(reason == fact.map { "\"id\" is \(String(reflecting: id)), which \($0)" })
    }

    @Test(
        arguments: [("1.0", true), ("1.7", true), ("1.4294967295", true)]
            + [
                "1", "1.", ".0", "1.-1", "1.+1", "01.0", "1.00", "1.0.0", "1.4294967296", "-1.0",
                "", "x",
                "1.0 ",
            ].map { ($0, false) })
    func `a manifest's abi is a major and a minor version`(abi: String, isVersion: Bool) {
        let reason = refusal(
            of: #"{"id": "a.b", "version": "1", "abi": "\#(abi)", "permissions": []}"#)
        let fact =
            "'a.b': \"abi\" is \"\(abi)\", which is not a major and a minor version, such as 1.0"
        #expect(reason == (isVersion ? nil : fact))
    }

    @Test(arguments: [("", false), ("1", true), (String(repeating: "1", count: 65), false)])
    func `a manifest's version is one that a descriptor may have`(version: String, may: Bool) {
        let reason = refusal(
            of: #"{"id": "a.b", "version": "\#(version)", "abi": "1.0", "permissions": []}"#)
        #expect((reason == nil) == may)
        #expect(reason?.hasPrefix("'a.b': \"version\" is ") != false)
    }

    @Test(
        arguments: [
            ("1.0", "fs:/tmp", "is no permission that this host knows"),
            // A newer ABI version may have more kinds.
            ("1.1", "fs:/tmp", nil),
            ("1.1", "net:a b", "is no permission: "), ("1.0", "net:[::1]:443", nil),
            ("1.0", "env:" + String(repeating: "A", count: 252), nil),
            ("1.1", "env:" + String(repeating: "A", count: 253), "has more than 256 bytes"),
        ] as [(String, String, String?)])
    func `a manifest's permissions are those of its ABI version`(
        abi: String, permission: String, fact: String?
    ) {
        let reason = refusal(
            of:
                #"{"id": "a.b", "version": "1", "abi": "\#(abi)", "#
                + #""permissions": ["\#(permission)"]}"#
        )
        guard let fact else {
            #expect(reason == nil)
            return
        }
        #expect(reason?.hasPrefix("'a.b': \"permissions\": ") == true)
        #expect(reason?.contains(fact) == true)
    }

    @Test func `a manifest has 64 permissions and 64 entries at most`() {
        let permissions = Array(repeating: #""env:A""#, count: 65).joined(separator: ",")
        #expect(
            refusal(
                of: #"{"id": "a", "version": "1", "abi": "1.0", "permissions": [\#(permissions)]}"#)
                == "'a': \"permissions\" holds 65 texts, at most 64 are possible")
        let entries = (0..<65).map {
            #"{"id": "a\#($0)", "version": "1", "abi": "1.0", "permissions": []}"#
        }
        #expect(
            refusal(of: entries.joined(separator: "\0"))
                == "it has 65 entries, at most 64 are possible")
    }

    @Test func `a refused write is the reason of a status without one`() {
        let context = CallContext(deadline: 0)
        let reason = context.reason(OUTLET_E_ARGUMENT, after: "it has written too much")
        #expect(reason.message == "it has written too much")
        var own = PluginReason(message: "the plugin's own")
        own.code = "c"
        context.fail(own)
        #expect(
            context.reason(OUTLET_E_ARGUMENT, after: "it has written too much").message
                == "the plugin's own")
    }

    @Test func `an export may write at most 64 MiB`() {
        let sink = SinkHandle()
        let bytes = [UInt8](repeating: 0x61, count: SinkHandle.limit)
        bytes.withUnsafeBufferPointer { bytes in
            let all = outlet_view(ptr: bytes.baseAddress, len: UInt64(bytes.count))
            let one = outlet_view(ptr: bytes.baseAddress, len: 1)
            #expect(sink.write(all) == OUTLET_OK)
            #expect(sink.write(one) == OUTLET_E_ARGUMENT)
        }
        #expect(sink.content.count == SinkHandle.limit)
    }
}

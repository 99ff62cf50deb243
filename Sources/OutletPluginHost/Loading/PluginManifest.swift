import OutletHTTP

/// The manifest of one plugin, which its library's file contains and which is read without running
/// code.
public struct PluginManifest: Equatable, Sendable {
    /// The plugin's id.
    public let id: String
    /// The plugin's version.
    public let version: String
    /// The ABI version it was built for, such as `1.0`.
    public let abi: String
    /// The permissions that it asks for, such as `net:api.example.com`.
    public let permissions: [String]

    /// The largest size of a library's manifest section in bytes.
    static let largestSize: UInt64 = 64 << 10

    struct Malformed: Error {
        let reason: String
    }

    /// Parses the content of the `.outlet.manifest` section: one entry for each plugin, separated
    /// by NUL bytes.
    static func all(in section: [UInt8]) throws(Malformed) -> [PluginManifest] {
        var manifests: [PluginManifest] = []
        let entries = section.split(separator: 0)
        for (index, entry) in entries.enumerated() {
            let manifest: PluginManifest
            do {
                manifest = try PluginManifest(entry)
            } catch {
                let place = entries.count > 1 ? "entry \(index + 1): " : ""
                throw Malformed(reason: place + error.reason)
            }
            guard !manifests.contains(where: { $0.id.hasSameBytes(as: manifest.id) }) else {
                throw Malformed(reason: "\(String(reflecting: manifest.id)) has two entries")
            }
            manifests.append(manifest)
        }
        guard !manifests.isEmpty else { throw Malformed(reason: "it is empty") }
        guard manifests.count <= PluginModule.largestCount else {
            throw Malformed(
                reason: "it has \(manifests.count) entries, at most "
                    + "\(PluginModule.largestCount) are possible")
        }
        return manifests
    }

    /// Parses the text of an ABI version; `nil` unless it is `MAJOR.MINOR` in decimal digits,
    /// without leading zeros.
    private static func version(_ text: String) -> (major: UInt32, minor: UInt32)? {
        guard let (head, tail) = text.cut(at: "."), let major = UInt32(head),
            let minor = UInt32(tail), text.hasSameBytes(as: "\(major).\(minor)")
        else { return nil }
        return (major, minor)
    }

    /// Parses an entry; unknown members are ignored.
    ///
    /// Repeated members are refused, because parsers disagree on whether the first or the last
    /// value counts.
    private init(_ entry: ArraySlice<UInt8>) throws(Malformed) {
        let json: JSONValue
        do {
            json = try JSONValue(parsing: entry)
        } catch {
            throw Malformed(reason: "\(error)")
        }
        guard let members = json.objectValue else {
            throw Malformed(reason: "not a JSON object")
        }
        var names: Set<[UInt8]> = []
        for member in members where !names.insert(Array(member.name.utf8)).inserted {
            throw Malformed(reason: "\(String(reflecting: member.name)) is there more than once")
        }
        func string(_ name: String) throws(Malformed) -> String {
            guard let text = members[name]?.stringValue else {
                throw Malformed(
                    reason: "\"\(name)\" is \(members[name] == nil ? "missing" : "not a string")")
            }
            return text
        }
        id = try string("id")
        guard PluginDescriptor.isID(id) else {
            throw PluginManifest.refusal("id", id, PluginDescriptor.idRefusal)
        }
        guard id.utf8.count <= PluginDescriptor.longestID else {
            throw PluginManifest.refusal(
                "id", id, "has more than \(PluginDescriptor.longestID) bytes")
        }
        version = try string("version")
        abi = try string("abi")
        guard let list = members["permissions"]?.arrayValue else {
            throw Malformed(reason: "\"permissions\" is missing, or not an array")
        }
        permissions = list.compactMap(\.stringValue)
        guard permissions.count == list.count else {
            throw Malformed(reason: "\"permissions\" holds something that is not a string")
        }
    }

    /// Refuses values with which no code can agree that this host runs.
    ///
    /// Not for libraries without an entry function for this host, whose error is about that.
    func check() throws(Malformed) {
        do throws(Malformed) {
            try checkValues()
        } catch {
            throw Malformed(reason: "'\(id)': \(error.reason)")
        }
    }

    private func checkValues() throws(Malformed) {
        guard 1...PluginDescriptor.longestVersion ~= version.utf8.count else {
            throw PluginManifest.refusal(
                "version", version, "has not 1 to \(PluginDescriptor.longestVersion) bytes")
        }
        guard let abiVersion = PluginManifest.version(abi) else {
            throw PluginManifest.refusal(
                "abi", abi, "is not a major and a minor version, such as 1.0")
        }
        guard abiVersion.major == PluginModule.abi.major else {
            throw PluginManifest.refusal(
                "abi", abi, "this host does not have: it has ABI \(PluginModule.abi.major)")
        }
        guard permissions.count <= PluginDescriptor.mostTexts else {
            throw Malformed(
                reason: "\"permissions\" holds \(permissions.count) texts, at most "
                    + "\(PluginDescriptor.mostTexts) are possible")
        }
        for permission in permissions {
            try PluginManifest.check(permission, abiMinor: abiVersion.minor)
        }
    }

    private static func refusal(_ name: String, _ text: String, _ fact: String) -> Malformed {
        let shown = String(reflecting: ConfigurationViolation.shortened(text))
        return Malformed(reason: "\"\(name)\" is \(shown), which \(fact)")
    }

    /// Refuses a permission that no host of an ABI version grants.
    ///
    /// One of a kind that this host does not know may exist in a newer minor version.
    private static func check(_ permission: String, abiMinor: UInt32) throws(Malformed) {
        guard permission.utf8.count <= PluginDescriptor.longestText else {
            let shown = String(reflecting: ConfigurationViolation.shortened(permission))
            throw Malformed(
                reason: "\"permissions\": \(shown) has more than "
                    + "\(PluginDescriptor.longestText) bytes")
        }
        do {
            _ = try Permission(permission)
        } catch .unknownKind where abiMinor > PluginModule.abi.minor {
            return
        } catch {
            throw Malformed(reason: "\"permissions\": \(error)")
        }
    }
}

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
        for entry in section.split(separator: 0) {
            let manifest = try PluginManifest(entry)
            guard !manifests.contains(where: { $0.id.hasSameBytes(as: manifest.id) }) else {
                throw Malformed(reason: "\(String(reflecting: manifest.id)) has two entries")
            }
            manifests.append(manifest)
        }
        guard !manifests.isEmpty else { throw Malformed(reason: "it is empty") }
        return manifests
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
            throw Malformed(reason: "not JSON: \(error)")
        }
        guard let members = json.objectValue else {
            throw Malformed(reason: "not a JSON object")
        }
        var names: Set<String> = []
        for member in members where !names.insert(member.name).inserted {
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
}

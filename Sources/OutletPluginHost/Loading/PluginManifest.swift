import OutletHTTP

/// What a plugin's file says of itself before any of its code runs.
public struct PluginManifest: Equatable, Sendable {
    /// The plugin's id.
    public let id: String
    /// The plugin's version.
    public let version: String
    /// The ABI it was built for, such as `1.0`.
    public let abi: String
    /// What it needs, such as `net:api.example.com`.
    public let permissions: [String]

    /// How many bytes a manifest may have.
    static let largestSize: UInt64 = 64 << 10

    struct Malformed: Error {
        let reason: String
    }

    /// Reads the content of the `.outlet.manifest` section; unknown members are ignored.
    ///
    /// A name that is there twice is refused: of two readers one would take the first value, the
    /// other the last.
    init(bytes: [UInt8]) throws(Malformed) {
        let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        guard end > 0 else { throw Malformed(reason: "it is empty") }
        let json: JSONValue
        do {
            json = try JSONValue(parsing: bytes[..<end])
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

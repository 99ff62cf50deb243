import Glibc
import OutletFiles
import OutletHTTP

/// The `plugins.json` of a plugin directory, which holds settings for its plugins.
struct SettingsFile {
    /// The name of the file.
    static let name = "plugins.json"

    let source: SettingsSource
    /// A warning if it contains configuration and all users can read it; else `nil`.
    let warning: String?

    /// The largest size of the file in bytes.
    private static let largestSize: UInt64 = 1 << 20

    /// Reads the file of a directory.
    ///
    /// - Parameters:
    ///   - directory: The directory: absolute, without symbolic links.
    ///   - checksOwnership: Whether to refuse a file that other users can write to.
    /// - Returns: `nil` when there is none.
    /// - Throws: ``PluginDirectoryError/unusableSettings(path:reason:)`` or
    ///   ``PluginDirectoryError/invalidSettings(path:violations:)``.
    static func read(
        inDirectory directory: String, checksOwnership: Bool
    ) throws(PluginDirectoryError) -> SettingsFile? {
        let path = (directory == "/" ? "" : directory) + "/" + name
        func unusable(_ reason: String) -> PluginDirectoryError {
            .unusableSettings(path: path, reason: reason)
        }
        // The same flags as for plugins: opening a FIFO would block, and a link could lead to any
        // file.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw unusable(
                errno == ELOOP ? "it is a symbolic link; copy the file instead" : systemText(errno))
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unusable(systemText(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw unusable("it is no regular file") }
        if checksOwnership, let objection = FileTrust.objection(to: status) {
            throw unusable("it \(objection)")
        }
        let size = UInt64(clamping: status.st_size)
        guard size <= largestSize else {
            throw unusable("it has \(size) bytes, at most \(largestSize) are read")
        }
        let bytes: [UInt8]
        do {
            bytes = try FileBytes(descriptor: descriptor, size: size)
                .read("its content", at: 0, count: size)
        } catch {
            throw unusable(error.reason)
        }
        do {
            let settings = try settings(bytes)
            let isConfigured = settings.values.contains { settings in
                !settings.configuration.isEmpty
                    || settings.instances.contains { !$0.configuration.isEmpty }
            }
            let mode = String(status.st_mode & 0o7777, radix: 8)
            return SettingsFile(
                source: SettingsSource(name: path, settings: settings),
                warning: isConfigured && status.st_mode & mode_t(S_IROTH) != 0
                    ? "\(path): holds configuration and is readable by all users (mode \(mode)); "
                        + "chmod o-r" : nil)
        } catch {
            throw .invalidSettings(path: path, violations: error.violations)
        }
    }

    /// Parses the file's content.
    ///
    /// - Returns: The settings by plugin id.
    /// - Throws: ``InvalidSettings``.
    static func settings(
        _ bytes: [UInt8]
    ) throws(InvalidSettings) -> [String: PluginSettings] {
        let object = try LayeredConfiguration.object(parsing: bytes)
        do {
            let violations = try ConfigurationSchema(text: schema).violations(
                of: .object(object), suggestion: place(ofKey:at:))
            guard violations.isEmpty else {
                let form = #"the form is {"plugins": {"ID": {"config": {}}}}"#
                throw InvalidSettings(
                    violations
                        + (object["plugins"] == nil ? [ConfigurationViolation(fact: form)] : []))
            }
        } catch let error as InvalidSettings {
            throw error
        } catch ConfigurationSchema.Unusable.value(let reason) {
            throw InvalidSettings([ConfigurationViolation(fact: reason)])
        } catch {
            throw InvalidSettings([ConfigurationViolation(fact: "it cannot be checked: \(error)")])
        }
        var settings: [String: PluginSettings] = [:]
        for member in object["plugins"]?.objectValue ?? [:] {
            settings[member.name] = PluginSettings(member.value)
        }
        return settings
    }

    /// Returns the place of a key of the configuration that is beside `config` instead of in it.
    ///
    /// - Parameters:
    ///   - key: An unknown key.
    ///   - path: A JSON pointer to the object that it is in.
    /// - Returns: `nil` if that object has no `config`.
    private static func place(ofKey key: String, at path: String) -> String? {
        let tokens = path.parts(separatedBy: "/").dropFirst()
        func isToken(_ index: Int, _ name: String) -> Bool {
            tokens.dropFirst(index).first?.hasSameBytes(as: name) == true
        }
        let hasConfig = tokens.count == 2 || tokens.count == 4 && isToken(2, "instances")
        return isToken(0, "plugins") && hasConfig ? "config.\(key)" : nil
    }

    /// The JSON Schema of the file.
    private static let schema = """
        {"type": "object", "required": ["plugins"], "additionalProperties": false, "properties": {
          "$schema": {"type": "string"},
          "plugins": {"type": "object", "maxProperties": 1000,
            "propertyNames": {"pattern": "^[a-z0-9.-]{1,128}$"},
            "additionalProperties": {"type": "object", "additionalProperties": false, "properties": {
              "config": {"$ref": "#/definitions/config"}, "enabled": {"type": "boolean"},
              "optional": {"type": "boolean"}, "failOpen": {"type": "boolean"},
              "deadlines": {"type": "object", "additionalProperties": false, "patternProperties": {
                "^(\(PluginHook.answered.map(\.rawValue).joined(separator: "|")))$":
                  {"type": "number", "minimum": 0.001, "maximum": 86400}}},
              "permissions": {"type": "array", "maxItems": 256, "items": {"type": "string"}},
              "instances": {"type": "array", "minItems": 1, "maxItems": 64, "items": {
                "type": "object", "required": ["name"], "additionalProperties": false, "properties": {
                  "name": {"type": "string"}, "config": {"$ref": "#/definitions/config"}}}}}}}},
         "definitions": {"config": {
           "type": "object", "maxProperties": \(LayeredConfiguration.mostKeys)}}}
        """
}

extension PluginSettings {
    /// Reads an entry that is valid by the schema.
    fileprivate init(_ entry: JSONValue) {
        self.init()
        configuration = entry["config"]?.objectValue ?? [:]
        isEnabled = entry["enabled"]?.boolValue
        isOptional = entry["optional"]?.boolValue
        failsOpen = entry["failOpen"]?.boolValue
        for member in entry["deadlines"]?.objectValue ?? [:] {
            deadlines[member.name] = member.value.doubleValue.map { .seconds($0) }
        }
        permissions = entry["permissions"]?.arrayValue?.compactMap(\.stringValue)
        instances = (entry["instances"]?.arrayValue ?? []).map { instance in
            Instance(
                name: instance["name"]?.stringValue ?? "",
                configuration: instance["config"]?.objectValue ?? [:])
        }
    }
}

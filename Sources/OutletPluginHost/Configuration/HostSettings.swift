import OutletHTTP

/// The settings that the program passes to a host.
struct HostSettings: Sendable {
    /// Settings by plugin id.
    let settings: [String: PluginSettings]
    /// Configuration as JSON texts, by plugin id or instance id (`id#instance`).
    let texts: [String: String]
    /// The origins of the texts, by the same keys.
    let sources: [String: String]

    /// The ids of all plugins and instances that occur in the settings, sorted.
    var labels: [String] { Set(settings.keys).union(texts.keys).sorted() }

    /// Merges the settings of a plugin.
    ///
    /// - Parameter file: The settings of the plugin's directory; `nil` for none.
    /// - Throws: ``InvalidSettings`` when a configuration text, a permission or an instance name is
    ///   invalid.
    func resolve(
        _ id: String, file: SettingsSource?
    ) throws(InvalidSettings) -> ResolvedSettings {
        var layers: [(settings: PluginSettings, source: String)] = []
        if let file, let own = file.settings[id] { layers.append((own, file.name)) }
        if let own = settings[id] { layers.append((own, "the program")) }
        var base = LayeredConfiguration()
        for layer in layers { base.lay(layer.settings.configuration, from: layer.source) }
        try lay(id, on: &base)
        let policy = layers.last { $0.settings.permissions != nil }
        let named = layers.last { !$0.settings.instances.isEmpty }
        return ResolvedSettings(
            isEnabled: layers.compactMap(\.settings.isEnabled).last ?? true,
            isOptional: layers.compactMap(\.settings.isOptional).last ?? false,
            failsOpen: layers.compactMap(\.settings.failsOpen).last ?? false,
            deadlines: layers.reduce(into: [:]) { deadlines, layer in
                deadlines.merge(layer.settings.deadlines) { $1 }
            },
            policy: try policy.map { layer throws(InvalidSettings) in
                try HostSettings.policy(layer.settings.permissions ?? [], from: layer.source)
            },
            instances: try instances(
                named?.settings.instances ?? [], of: id, over: base, named?.source)
        )
    }

    private func instances(
        _ named: [PluginSettings.Instance], of id: String, over base: LayeredConfiguration,
        _ source: String?
    ) throws(InvalidSettings) -> [ResolvedSettings.Instance] {
        guard let source else {
            return [ResolvedSettings.Instance(label: id, name: nil, configuration: base)]
        }
        if let violation = HostSettings.objection(to: named) {
            throw InvalidSettings([violation]).from(source)
        }
        var instances: [ResolvedSettings.Instance] = []
        for instance in named {
            let label = "\(id)#\(instance.name)"
            var configuration = base
            configuration.lay(instance.configuration, from: source)
            try lay(label, on: &configuration)
            instances.append(
                ResolvedSettings.Instance(
                    label: label, name: instance.name, configuration: configuration))
        }
        return instances
    }

    /// Merges the configuration text of a plugin or an instance.
    private func lay(
        _ label: String, on configuration: inout LayeredConfiguration
    ) throws(InvalidSettings) {
        // By bytes: `K` and the Kelvin sign are equal texts.
        guard let (key, text) = texts.first(where: { $0.key.hasSameBytes(as: label) }) else {
            return
        }
        let source = sources[key] ?? "the program"
        do throws(InvalidSettings) {
            configuration.lay(try LayeredConfiguration.object(parsing: text.utf8), from: source)
        } catch {
            throw error.from(source)
        }
    }

    private static func policy(
        _ texts: [String], from source: String
    ) throws(InvalidSettings) -> ResolvedSettings.Policy {
        var permissions: [Permission] = []
        for (index, text) in texts.enumerated() {
            do throws(Permission.Invalid) {
                permissions.append(try Permission(text))
            } catch {
                throw InvalidSettings([
                    ConfigurationViolation(path: "/permissions/\(index)", fact: "\(error)")
                ]).from(source)
            }
        }
        return ResolvedSettings.Policy(permissions: permissions, source: source)
    }

    /// An invalid or repeated instance name; `nil` when all are valid.
    private static func objection(
        to instances: [PluginSettings.Instance]
    ) -> ConfigurationViolation? {
        var names: Set<String> = []
        for (index, instance) in instances.enumerated() {
            let name = instance.name
            let isName = (1...64).contains(name.utf8.count) && name.utf8.allSatisfy(isOfName)
            guard isName, names.insert(name).inserted else {
                return ConfigurationViolation(
                    path: "/instances/\(index)/name",
                    fact: isName
                        ? "a second instance '\(name)'"
                        : "not 1 to 64 letters, digits, '.', '-' and '_'")
            }
        }
        return nil
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte.isAlpha || byte.isDigit || [0x2D, 0x2E, 0x5F].contains(byte)
    }
}

/// The merged settings of one plugin.
struct ResolvedSettings: Sendable {
    let isEnabled: Bool
    let isOptional: Bool
    let failsOpen: Bool
    /// Time limits by hook name.
    let deadlines: [String: Duration]
    /// The permissions that may be granted; `nil` grants all that the plugin asks for.
    let policy: Policy?
    /// One instance without a name, or one or more with names.
    let instances: [Instance]

    /// The permissions that may be granted, and their origin.
    struct Policy: Sendable {
        let permissions: [Permission]
        let source: String
    }

    /// The configuration of one instance.
    struct Instance: Sendable {
        /// The plugin's id, followed by `#` and the name if there is one.
        let label: String
        let name: String?
        let configuration: LayeredConfiguration
    }
}

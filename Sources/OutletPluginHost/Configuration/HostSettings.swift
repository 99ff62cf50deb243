import OutletHTTP

/// What the program says about plugins.
struct HostSettings: Sendable {
    /// By plugin id.
    let settings: [String: PluginSettings]
    /// Configuration as JSON texts, by plugin id, or id, `#` and name of an instance.
    let texts: [String: String]
    /// Where the texts come from, by the same.
    let sources: [String: String]

    /// The plugins and instances that it speaks of.
    var labels: [String] { Set(settings.keys).union(texts.keys).sorted() }

    /// What holds for a plugin.
    ///
    /// - Parameter file: What the plugin's directory says.
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

    /// Lays the text of a plugin or an instance on what is there.
    private func lay(
        _ label: String, on configuration: inout LayeredConfiguration
    ) throws(InvalidSettings) {
        guard let text = texts[label] else { return }
        let source = sources[label] ?? "the program"
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

    /// What is wrong with the names of instances; `nil` when nothing is.
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

/// What holds for one plugin.
struct ResolvedSettings: Sendable {
    let isEnabled: Bool
    let isOptional: Bool
    let failsOpen: Bool
    /// By the names of hooks.
    let deadlines: [String: Duration]
    /// `nil` grants all that the plugin asks for.
    let policy: Policy?
    /// One without a name, or one and more with.
    let instances: [Instance]

    /// What may be granted.
    struct Policy: Sendable {
        let permissions: [Permission]
        let source: String
    }

    /// The configuration of one instance.
    struct Instance: Sendable {
        /// The plugin's id, with `#` and the name if there is one.
        let label: String
        let name: String?
        let configuration: LayeredConfiguration
    }
}

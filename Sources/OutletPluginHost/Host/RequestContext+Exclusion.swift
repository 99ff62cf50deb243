import OutletHTTP

/// The instances that a request passes by: the one that sends it, and those it was called for.
private enum ExcludedPlugins: RequestContextKey {
    typealias Value = Set<ObjectIdentifier>
}

extension RequestContext {
    /// The instances that the request passes by; `nil` for none.
    var excluded: Set<ObjectIdentifier>? { self[ExcludedPlugins.self] }

    /// Excludes instances from the request; requests that they take part in do not share its
    /// transfer then.
    mutating func exclude(_ instance: PluginInstance, and others: Set<ObjectIdentifier>?) {
        self[ExcludedPlugins.self] = (others ?? []).union([ObjectIdentifier(instance)])
        needsOwnTransfer = true
    }

    /// Whether the request passes by an instance.
    func excludes(_ instance: PluginInstance) -> Bool {
        excluded?.contains(ObjectIdentifier(instance)) ?? false
    }
}

extension HTTPRequest {
    /// The instances that the request passes by; `nil` for none.
    var excludedPlugins: Set<ObjectIdentifier>? { hasContext ? context.excluded : nil }

    /// Whether the request passes by an instance.
    func excludes(_ instance: PluginInstance) -> Bool {
        hasContext && context.excludes(instance)
    }
}

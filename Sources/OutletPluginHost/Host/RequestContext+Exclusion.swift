import OutletHTTP

/// The key of the plugin instances whose hooks are skipped for a request.
///
/// These are the plugin that sent the request and, if one of its hooks sent it, the instances
/// excluded from the hook's request.
private enum ExcludedPlugins: RequestContextKey {
    typealias Value = Set<ObjectIdentifier>
}

extension RequestContext {
    /// The plugin instances whose hooks are skipped for the request; `nil` for none.
    // Inlined, as the subscript.
    @inline(__always) var excluded: Set<ObjectIdentifier>? { self[ExcludedPlugins.self] }

    /// Skips the hooks of instances for the request.
    ///
    /// The request is then not coalesced with equal requests, whose hooks are called.
    ///
    /// - Parameters:
    ///   - instance: The instance that sends the request.
    ///   - others: Further instances; `nil` for none.
    mutating func exclude(_ instance: PluginInstance, and others: Set<ObjectIdentifier>?) {
        let excluded = (others ?? []).union([ObjectIdentifier(instance)])
        self[ExcludedPlugins.self, describing: .sender] = excluded
        needsOwnTransfer = true
    }
}

extension HTTPRequest {
    /// The plugin instances whose hooks are skipped for the request; `nil` for none.
    var excludedPlugins: Set<ObjectIdentifier>? { hasContext ? context.excluded : nil }

    /// Whether the hooks of an instance are skipped for the request.
    func excludes(_ instance: PluginInstance) -> Bool {
        excludedPlugins?.contains(ObjectIdentifier(instance)) ?? false
    }
}

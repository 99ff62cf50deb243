import OutletTransport

/// The ids of running plugins that allow one instance per process (`OUTLET_F_PER_PROCESS`).
enum SinglePlugins {
    private static let running = Lock(Set<String>())

    /// Reserves a plugin id.
    ///
    /// - Returns: `false` where an instance is running already.
    static func claim(_ id: String) -> Bool {
        running.withLock { $0.insert(id).inserted }
    }

    static func release(_ id: String) {
        running.withLock { _ = $0.remove(id) }
    }
}

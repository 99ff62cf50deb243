import OutletTransport

/// The plugins that allow one instance per process, and have it.
enum SinglePlugins {
    private static let running = Lock(Set<String>())

    /// - Returns: Whether nobody else has it.
    static func claim(_ id: String) -> Bool {
        running.withLock { $0.insert(id).inserted }
    }

    static func release(_ id: String) {
        running.withLock { _ = $0.remove(id) }
    }
}

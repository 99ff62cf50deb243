/// The default routes of this machine: whether there is one, and over which interfaces.
public struct NetworkPath: Sendable, Equatable {
    /// Whether there is a default route.
    public enum Status: Sendable, Equatable {
        /// There is a default route over a running interface.
        case satisfied
        /// There is no such route.
        case unsatisfied
        /// The kernel does not provide its routing tables.
        case unknown
    }

    /// The type of a network interface.
    public enum InterfaceType: String, Sendable, CaseIterable {
        /// Wired or virtual Ethernet, such as that of a container.
        case wiredEthernet
        /// Wi-Fi.
        case wifi
        /// A modem for mobile networks.
        case cellular
        /// The loopback interface.
        case loopback
        /// Any other type, such as a tunnel.
        case other
    }

    /// A running network interface of this machine.
    public struct Interface: Sendable, Equatable, Hashable {
        /// The name, such as `eth0`.
        public let name: String
        /// The kernel's index of the interface.
        public let index: Int32
        /// The type.
        public let type: InterfaceType

        /// Makes an interface.
        ///
        /// - Parameters:
        ///   - name: The name, such as `eth0`.
        ///   - index: The kernel's index of the interface.
        ///   - type: The type.
        public init(name: String, index: Int32, type: InterfaceType) {
            self.name = name
            self.index = index
            self.type = type
        }
    }

    /// Whether there is a default route.
    public let status: Status
    /// The interfaces of the default routes, ordered by index.
    public let interfaces: [Interface]
    /// Whether there is a default route for IPv4.
    public let supportsIPv4: Bool
    /// Whether there is a default route for IPv6.
    public let supportsIPv6: Bool

    /// Makes a path, for example for a ``PathMonitor`` in tests.
    ///
    /// - Parameters:
    ///   - status: Whether there is a default route.
    ///   - interfaces: The interfaces of the default routes.
    ///   - supportsIPv4: Whether there is a default route for IPv4.
    ///   - supportsIPv6: Whether there is a default route for IPv6.
    public init(
        status: Status, interfaces: [Interface] = [], supportsIPv4: Bool = false,
        supportsIPv6: Bool = false
    ) {
        self.status = status
        self.interfaces = interfaces
        self.supportsIPv4 = supportsIPv4
        self.supportsIPv6 = supportsIPv6
    }

    /// Returns the path with the interfaces whose type is allowed only; unsatisfied if none is
    /// left.
    func restricted(_ isAllowed: (InterfaceType) -> Bool) -> NetworkPath {
        let allowed = interfaces.filter { isAllowed($0.type) }
        return NetworkPath(
            status: status == .satisfied && allowed.isEmpty ? .unsatisfied : status,
            interfaces: allowed, supportsIPv4: supportsIPv4, supportsIPv6: supportsIPv6)
    }
}

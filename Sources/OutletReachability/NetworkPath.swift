/// Whether this machine has a way out, and over which interfaces.
public struct NetworkPath: Sendable, Equatable {
    /// Whether there is a way out.
    public enum Status: Sendable, Equatable {
        /// There is a default route over an interface that runs.
        case satisfied
        /// There is none.
        case unsatisfied
        /// The system does not tell.
        case unknown
    }

    /// What an interface is.
    public enum InterfaceType: String, Sendable, CaseIterable {
        /// Ethernet on a wire, and what looks like it, such as a container's.
        case wiredEthernet
        /// Wi-Fi.
        case wifi
        /// A modem for mobile networks.
        case cellular
        /// The machine itself.
        case loopback
        /// Tunnels and the rest.
        case other
    }

    /// An interface of this machine that runs.
    public struct Interface: Sendable, Equatable, Hashable {
        /// Its name, such as `eth0`.
        public let name: String
        /// Its number in the kernel.
        public let index: Int32
        /// What it is.
        public let type: InterfaceType

        /// Makes an interface.
        public init(name: String, index: Int32, type: InterfaceType) {
            self.name = name
            self.index = index
            self.type = type
        }
    }

    /// Whether there is a way out.
    public let status: Status
    /// The interfaces that default routes go over, by their numbers.
    public let interfaces: [Interface]
    /// Whether there is a default route for IPv4.
    public let supportsIPv4: Bool
    /// Whether there is a default route for IPv6.
    public let supportsIPv6: Bool

    /// Makes a path.
    public init(
        status: Status, interfaces: [Interface] = [], supportsIPv4: Bool = false,
        supportsIPv6: Bool = false
    ) {
        self.status = status
        self.interfaces = interfaces
        self.supportsIPv4 = supportsIPv4
        self.supportsIPv6 = supportsIPv6
    }

    /// The path as far as it goes over interfaces that a rule lets pass.
    func restricted(_ isAllowed: (InterfaceType) -> Bool) -> NetworkPath {
        let allowed = interfaces.filter { isAllowed($0.type) }
        return NetworkPath(
            status: status == .satisfied && allowed.isEmpty ? .unsatisfied : status,
            interfaces: allowed, supportsIPv4: supportsIPv4, supportsIPv6: supportsIPv6)
    }
}

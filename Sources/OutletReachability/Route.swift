// CMnl's headers declare socket types as well, so Swift imports them from that module.
import CMnl
import Glibc

/// The kernel's route to one address.
enum Route {
    /// Whether there is a route to an address; `nil` if the text is no IP address and not
    /// `localhost`, or if no socket can be opened.
    static func exists(to address: String) -> Bool? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address == "localhost" ? "127.0.0.1" : address, "9", &hints, &found) == 0,
            let info = found
        else { return nil }
        defer { freeaddrinfo(found) }
        let descriptor = socket(
            info.pointee.ai_family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Connecting a datagram socket looks up the route and sends nothing.
        return connect(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0
    }
}

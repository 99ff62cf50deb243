import OutletTestSupport

/// The kind of server that a request is sent to.
enum Peer {
    /// Responds and keeps the connection open.
    case good
    /// Like `good`, with a host name whose lookup takes 20 ms.
    case slowName
    /// Sends its response in pieces of 150 bytes.
    case trickles
    /// Closes the connection after one to five responses, without `Connection: close`.
    case closes
    /// Responds to the first request of a connection and resets the connection at the second.
    case resets
    /// Sends the first 500 bytes of its response and then nothing.
    case stalls
    /// No server: the lookup of the host name takes 500 ms, longer than the request's timeout.
    case nowhere

    /// Returns a random kind; the kinds that end in a timeout are rare because they take long.
    static func random() -> Peer {
        switch Int.random(in: 0..<32) {
        case 0: .stalls
        case 1: .nowhere
        case 2..<6: .resets
        case 6..<10: .closes
        case 10..<14: .trickles
        case 14..<18: .slowName
        default: .good
        }
    }

    /// Whether every request must succeed unless it is cancelled.
    var isReliable: Bool { self == .good || self == .slowName || self == .trickles }

    /// The timeout of a request, in seconds.
    var patience: Double { isReliable ? 120 : 0.2 }
}

/// The servers of a stress test.
final class Peers: Sendable {
    private static let answer = Step.respond(body: String(repeating: "x", count: 1000))
    private static let pieces = Array(
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n\(String(repeating: "x", count: 1000))".utf8
    )

    private let good: ScriptedServer
    private let trickles: ScriptedServer
    private let closes: ScriptedServer
    private let resets: ScriptedServer
    private let stalls: ScriptedServer

    init() throws {
        good = try ScriptedServer.start(.request, Self.answer, .again)
        trickles = try ScriptedServer.start(
            .request, .trickle(Self.pieces, size: 150, interval: .milliseconds(1)), .again)
        closes = try ScriptedServer.start { connection in
            Array(repeating: [.request, Self.answer], count: 1 + connection % 5).flatMap { $0 }
        }
        resets = try ScriptedServer.start(.request, Self.answer, .request, .reset)
        stalls = try ScriptedServer.start(.request, .send(Array(Self.pieces.prefix(500))), .stall)
    }

    /// Returns the URL of a server.
    ///
    /// - Parameter number: The number of the request. With a slow lookup, it is part of the host
    ///   name, so that no lookup is answered by a cache.
    func address(of peer: Peer, number: Int) -> String {
        switch peer {
        case .good: good.baseURL
        case .slowName: "http://n\(number).slow-20.loopback.test:\(good.port)"
        case .trickles: trickles.baseURL
        case .closes: closes.baseURL
        case .resets: resets.baseURL
        case .stalls: stalls.baseURL
        case .nowhere: "http://n\(number).slow-500.nowhere.test"
        }
    }
}

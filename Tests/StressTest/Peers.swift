import OutletTestSupport

/// Who a request goes to.
enum Peer {
    /// Answers and keeps the connection.
    case good
    /// The same, behind a name that takes 20 ms.
    case slowName
    /// Sends its answer in pieces.
    case trickles
    /// Keeps the connection, so it says, and closes it.
    case closes
    /// Closes the connection with a reset in place of an answer.
    case resets
    /// Sends half an answer and no more.
    case stalls
    /// Nobody: the name's lookup takes longer than the request has time.
    case nowhere

    /// Any of them; those that cost a timeout are rare.
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

    /// Whether each request has to succeed that is not cancelled.
    var isReliable: Bool { self == .good || self == .slowName || self == .trickles }

    /// The time that a request has, in seconds.
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

    /// An address of a peer's; each number has a host name of its own where names are slow.
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

import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTransport

/// Calls of the hooks `serialize` and `trust`, which the requests of the tests do not call.
extension CheckSubject {
    /// Calls `serialize` with several bodies, and `trust` with several servers.
    ///
    /// - Parameters:
    ///   - host: The plugins.
    ///   - rounds: How often each server is evaluated.
    func ask(_ host: PluginHost, rounds: Int = 1) {
        for plugin in host.plugins where plugin.hooks.contains(.serialize) {
            for (number, body) in Self.bodies.enumerated() {
                report.step("\(plugin.id): serialize, body \(number + 1)")
                // A plugin may fail; the observer reports a failure without a reason, and values that
                // the host refuses.
                _ = try? host.serializer(plugin.id)?.serialize(
                    request: HTTPRequest(url: URL(string: "http://check.example/")),
                    response: HTTPResponse(
                        url: URL(string: "http://check.example/"), statusCode: 200,
                        headers: ["Content-Type": "application/json"]),
                    data: body, error: nil)
            }
        }
        guard host.plugins.contains(where: { $0.hooks.contains(.trust) }) else { return }
        let decider = host.trustDecider(behind: nil, verifies: false)
        for round in 0..<rounds {
            for (number, server) in MadeServers.all.enumerated() {
                report.step("trust, server \(number + 1), round \(round + 1)")
                _ = try? decider?.policy(forHost: server.host, port: server.port)?.evaluate(server)
            }
        }
    }

    private static let bodies: [Data?] = [
        nil, Data(), Data(#"{"a": [1, 2, {"b": null}], "c": "\u0000"}"#.utf8),
        Data([0xFF, 0xC0, 0x80, 0xED, 0xA0, 0x80, 0]), Data(repeating: 0x5B, count: 1 << 20),
    ]
}

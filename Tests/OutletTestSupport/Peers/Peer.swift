internal import Glibc

/// A server that nobody here wrote, run as our child on loopback ports; gone when the tests are.
///
/// Its ports are opened here and handed over, as systemd does, so that no port is lost to another
/// program and clients may connect before the server is up. A shell between reads a pipe that only
/// the tests hold: whatever way they end, the shell then ends the server. It sends SIGINT, at
/// which servers end at once, and SIGTERM, because a server that is not up yet ignores the other.
final class Peer: Sendable {
    private static let script = """
        "$@" &
        child=$!
        exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
        read -r line
        kill -INT "$child"
        kill -TERM "$child"
        wait "$child"
        rm -rf "$PWD"
        """

    /// The ports, in the order in which the server finds their sockets as 3, 4 and so on.
    let ports: [UInt16]
    private let program: RunningProgram

    /// Listens on `count` ports, at most 7, and starts a server on them.
    ///
    /// - Parameters:
    ///   - path: The server's absolute path.
    ///   - count: How many ports it gets.
    ///   - directory: Its working directory, removed when it ends.
    ///   - environment: Variables beside those of ``Program/environment``.
    ///   - prepare: Called with the ports before the start; returns the arguments.
    init(
        _ path: String, ports count: Int, directory: TemporaryDirectory,
        environment: [String: String] = [:], prepare: ([UInt16]) throws -> [String]
    ) throws {
        guard access(path, X_OK) == 0 else {
            throw TestSupportError("\(path): not installed: run make setup")
        }
        let sockets = try (0..<count).map { _ in try ListeningSocket(.loopback(port: 0)) }
        for socket in sockets {
            let flags = fcntl(socket.descriptor.number, F_GETFL)
            _ = fcntl(socket.descriptor.number, F_SETFL, flags | O_NONBLOCK)
        }
        ports = sockets.map(\.port)
        let arguments = try prepare(ports)
        program = try RunningProgram(
            "/bin/sh", ["-c", Self.script, "sh", path] + arguments, environment: environment,
            directory: directory.path, standardInput: .open,
            inheriting: sockets.map(\.descriptor))
    }

    /// Asks for a path until the server answers, which shows that it is up.
    ///
    /// - Throws: ``TestSupportError`` with what the server printed if it ended instead.
    func check(_ target: String) async throws {
        let answer = try? await HTTPExchange.perform(target, at: .loopback(port: ports[0]))
        guard let answer, answer.status == 200 else {
            let printed = await printedAtEnd()
            throw TestSupportError("peer: \(answer?.status ?? 0) for \(target): \(printed)")
        }
    }

    /// Waits until the server has printed a text.
    func output(containing text: String) async throws {
        try await program.output(containing: text)
    }

    /// Ends the server and waits until it is gone.
    func stop() async {
        _ = await printedAtEnd()
    }

    private func printedAtEnd() async -> String {
        program.closeInput()
        let result = try? await program.result(within: .seconds(10))
        return (result?.output ?? "") + (result?.errorOutput ?? "")
    }
}

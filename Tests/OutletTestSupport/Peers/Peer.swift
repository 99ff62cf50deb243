internal import Glibc

/// A third-party server that runs as a child process on loopback ports.
///
/// The tests open the ports and the server inherits the sockets, as with systemd. So no other
/// program can take a port, and clients can connect before the server is ready.
///
/// The server's parent is a shell that reads a pipe whose other end only the tests hold. When the
/// test process ends, for whatever reason, the shell ends the server. It sends SIGINT, at which
/// servers exit without waiting for connections, then SIGTERM, because a server that is still
/// starting ignores SIGINT.
final class Peer: Sendable {
    /// The shell's script; it closes its copies of the sockets.
    private static func script(closing sockets: Int) -> String {
        """
        "$@" &
        child=$!
        exec \((3..<3 + sockets).map { "\($0)<&-" }.joined(separator: " "))
        read -r line
        kill -INT "$child"
        kill -TERM "$child"
        wait "$child"
        rm -rf "$PWD"
        """
    }

    /// The ports; the server inherits their sockets as the descriptors 3, 4 and so on.
    let ports: [UInt16]
    private let program: RunningProgram

    /// Listens on `count` ports, and starts a server on them.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the server's program.
    ///   - count: The number of ports.
    ///   - directory: The server's working directory, removed when the server ends.
    ///   - environment: Variables added to ``Program/environment``; these take precedence.
    ///   - prepare: Called with the ports before the start; returns the server's arguments.
    /// - Throws: ``TestSupportError`` if the program is not installed or does not start; any error
    ///   of `prepare`.
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
        // Not sh, which takes descriptors of one digit only.
        program = try RunningProgram(
            "/bin/bash",
            ["-c", Self.script(closing: count), "bash", path] + arguments,
            environment: environment, directory: directory.path, standardInput: .open,
            inheriting: sockets.map(\.descriptor))
    }

    /// Requests `target` and waits for status 200, which shows that the server is ready.
    ///
    /// - Throws: ``TestSupportError`` with what the server printed, if it responds with another
    ///   status or not at all; the server is then stopped.
    func check(_ target: String) async throws {
        let answer = try? await HTTPExchange.perform(target, at: .loopback(port: ports[0]))
        guard let answer, answer.status == 200 else {
            let printed = await printedAtEnd()
            throw TestSupportError("peer: \(answer?.status ?? 0) for \(target): \(printed)")
        }
    }

    /// Waits until the server has printed `text` to standard output.
    ///
    /// - Throws: ``TestSupportError`` if the server ends without it, or after 60 s.
    func output(containing text: String) async throws {
        try await program.output(containing: text)
    }

    /// Ends the server and waits for its process to exit.
    func stop() async {
        _ = await printedAtEnd()
    }

    private func printedAtEnd() async -> String {
        program.closeInput()
        let result = try? await program.result(within: .seconds(10))
        return (result?.output ?? "") + (result?.errorOutput ?? "")
    }
}

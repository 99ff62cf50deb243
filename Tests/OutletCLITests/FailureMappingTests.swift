import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport
import Testing

@testable import OutletCLI
@testable import OutletPluginHost

/// The exit code and the message for a failed request.
@Suite struct FailureMappingTests {
    private struct Refused: Error, CustomStringConvertible {
        let description = "the quota is used up"
    }

    private let request = HTTPRequest(url: URL(string: "http://ada:geheim@a.test/x?token=geheim"))

    @Test(arguments: [
        (TransferError.Code.timedOut, ExitCode.timeout),
        (.httpTooManyRedirects, .tooManyRedirects), (.cancelled, .interrupted),
        (.networkConnectionLost, .failure), (.cannotFindHost, .failure),
    ])
    func `each failure of a transfer has its exit code`(
        code: TransferError.Code, exitCode: ExitCode
    ) {
        let error = TransferError(code: code, stage: .receiving, reason: "why", advice: "what")
        let failure = Exchange.Failure(.sessionTaskFailed(error: error), request: request)
        #expect(failure.error.exitCode == exitCode)
        #expect(failure.code == (exitCode == .interrupted ? "cancelled" : code.rawValue))
        #expect(!failure.error.message.containsBytes(of: "geheim"))
    }

    @Test(arguments: [
        ("raise timeoutIntervalForResource", "raise --timeout"),
        (
            "raise maximumResponseSize, or download it to a file",
            "raise --max-response-size, or download it to a file"
        ),
        (
            "send fewer requests at a time, or raise httpMaximumConnectionsPerHost",
            "send fewer requests at a time"
        ),
        (
            "raise the limit of open files (ulimit -n) or lower maximumConnections",
            "raise the limit of open files (ulimit -n)"
        ),
        (
            "use no proxy, or set isEnforcedByProxy in addressPolicy if the proxy keeps to it",
            "use no proxy"
        ),
        (
            "check that the server supports what minimumTLSVersion (1.3), tlsCipherList allows",
            "check that the server supports what --tls-min (1.3), --ciphers allows"
        ),
        (
            "set clientCertificate to one that the server trusts",
            "set --cert to one that the server trusts"
        ),
        ("see SessionConfiguration.allowsInsecureRedirectsWithBodies", ""),
        ("retry later, or not", "retry later, or not"), ("", ""),
    ])
    func `an advice names the program's options instead of the library's settings`(
        advice: String, shown: String
    ) {
        let error = TransferError(
            code: .timedOut, reason: "no addressPolicy", advice: advice)
        let failure = Exchange.Failure(.sessionTaskFailed(error: error), request: request)
        #expect(failure.error.advice == shown)
        #expect(failure.error.message.hasSuffix(": no addressPolicy"))
    }

    @Test func `an address policy is named by the value of its option`() {
        let error = TransferError(
            code: .addressNotAllowed, reason: "the address policy (publicOnly) does not allow ::1")
        let failure = Exchange.Failure(.sessionTaskFailed(error: error), request: request)
        #expect(failure.error.message.hasSuffix("the address policy (public) does not allow ::1"))
    }

    @Test func `the middle of a message that is very long is left out`() {
        let error = CommandError(
            .usage, "-x: \(String(repeating: "é", count: 50_000)): not a number", advice: "see y")
        let line = error.description
        #expect(line.utf8.count < 4100)
        #expect(line.hasPrefix("outlet: -x: éé"))
        #expect(line.hasSuffix("éé: not a number (see y)"))
        #expect(line.contains("é… (96018 bytes) …"))
        let short = CommandError(.usage, String(repeating: "x", count: 4000))
        #expect(short.description == "outlet: \(short.message)")
    }

    /// Options that change settings of the session, each with a value that is not the default.
    private static let changes: [Option.ID: String] = [
        .maxRedirects: "3", .maxResponseSize: "1k", .maxDecompressedSize: "1k",
        .maxDecompressionRatio: "3", .maxHeadSize: "1k", .maxHeadFields: "3", .timeout: "3",
        .connectTimeout: "3", .httpVersion: "2", .proxy: "none", .addressPolicy: "public",
        .unixSocket: "/dev/null", .resolve: "a.test:80:192.0.2.1", .interface: "lo",
        .verify: "no", .cacert: "/dev/null", .cert: "/dev/null", .certKey: "/dev/null",
        .tlsMin: "1.3", .ciphers: "AESGCM",
    ]

    /// The settings of the session and its transport by their names, as text.
    private func settings(_ arguments: [String]) throws -> [String: String] {
        let parsed = try ArgumentParser.parse(arguments + ["http://a.test/"])
        let configuration = try SessionOptions.configuration(parsed)
        var settings: [String: String] = [:]
        for whole: Any in [configuration, configuration.transport] {
            for (label, value) in Mirror(reflecting: whole).children {
                settings[label ?? ""] = "\(value)"
            }
        }
        settings["transport"] = nil
        return settings
    }

    @Test func `each setting that an option changes is named by the option in errors`() throws {
        let known = OptionTable.all.filter { $0.group == .limits || $0.group == .network }
        let without = known.filter { Self.changes[$0.id] == nil && $0.id != .allowFile }
        #expect(without.map(\.id) == [])
        let initial = try settings([])
        var lines = Self.changes.map { ["--\($0.rawValue)=\($1)"] } + [["--allow-file"]]
        // Neither is of use without the other.
        lines.removeAll { $0[0].hasPrefix("--cert-key") }
        lines.append(["--cert=/dev/null", "--cert-key=/dev/null"])
        var names: Set<String> = []
        for line in lines {
            let changed = try settings(line)
            let changes = initial.keys.filter { initial[$0] != changed[$0] }
            #expect(!changes.isEmpty, "\(line)")
            names.formUnion(changes)
        }
        // "proxy" is an ordinary word.
        for name in names where name != "proxy" {
            #expect(SettingNames.options[name] != nil, "\(name)")
        }
    }

    @Test func `each setting has an option or is known to have none`() throws {
        let all = Set(SettingNames.options.keys).union(SettingNames.unavailable)
        let names = try settings([]).keys.filter { name in
            name.utf8.contains { $0 >= 0x41 && $0 <= 0x5A }
        }
        #expect(
            Set(names).subtracting(all)
                == ["cookieChoice", "hstsChoice", "progressPatience", "recordsSentHeads"])
    }

    @Test func `of many or long changes by plugins, some are named and the others are counted`() {
        let request = HTTPRequest(url: URL(string: "http://h/"))
        let action = PluginAction(
            plugin: "a.b", hook: "prepare", effects: [String(repeating: "x", count: 100_000)],
            failure: nil, retryDelay: nil, microseconds: 1)
        let invalid = TransferError(code: .badRequest, reason: "no body, please")
        let failure = Exchange.Failure(.sessionTaskFailed(error: invalid), request: request)
        let actions = [PluginAction](repeating: action, count: 100)
        let message = failure.naming(changersIn: actions, of: request).error.message
        #expect(message.utf8.count < 2000)
        #expect(message.hasSuffix("x…), and 96 more"))
    }

    @Test func `a watcher keeps 10000 actions`() {
        let watcher = PluginWatcher(
            console: Console(color: .never, environment: [:]), isVerbose: false)
        let activity = PluginActivity(
            plugin: "a.b", hook: .prepare, requestID: nil, duration: 1, effects: [])
        for _ in 0..<10_010 { watcher.pluginDidAct(activity) }
        #expect(watcher.take().count == 10_000)
        watcher.pluginDidAct(activity)
        #expect(watcher.take().count == 1)
    }

    @Test func `an invalid request that plugins have changed names them, and exits with 7`() {
        let request = HTTPRequest(url: URL(string: "http://h/"))
        let action = PluginAction(
            plugin: "a.b", hook: "prepare", effects: ["method: HEAD"], failure: nil,
            retryDelay: nil, microseconds: 1)
        let idle = PluginAction(
            plugin: "c.d", hook: "prepare", effects: [], failure: nil, retryDelay: nil,
            microseconds: 1)
        let invalid = TransferError(code: .badRequest, reason: "no body, please")
        let failure = Exchange.Failure(.sessionTaskFailed(error: invalid), request: request)
        let named = failure.naming(changersIn: [idle, action], of: request)
        #expect(named.error.exitCode == .plugin)
        #expect(
            named.error.message
                == "GET http://h/: no body, please; changed by plugin a.b in prepare (method: HEAD)"
        )
        #expect(failure.naming(changersIn: [idle], of: request) == failure)
        var head = request
        head.method = .head
        head.body = .data(Data("x".utf8))
        #expect(failure.naming(changersIn: [action], of: head).error.exitCode == .failure)
        let lost = TransferError(code: .networkConnectionLost, reason: "gone")
        let other = Exchange.Failure(.sessionTaskFailed(error: lost), request: request)
        #expect(other.naming(changersIn: [action], of: request) == other)

        let refused = SessionError.requestAdaptationFailed(
            error: SessionError.urlRequestValidationFailed(
                reason: .invalidSyntax(.invalidHeaderValue(name: "X"))))
        let broken = Exchange.Failure(refused, request: request).naming(
            changersIn: [action], of: request)
        #expect(broken.error.exitCode == .plugin)
        #expect(broken.error.message.hasSuffix("; changed by plugin a.b in prepare (method: HEAD)"))
    }

    @Test func `an adaptation or retry failure has the exit code of a plugin failure`() {
        let errors: [SessionError] = [
            .requestAdaptationFailed(error: Refused()),
            .requestRetryFailed(retryError: Refused(), originalError: Refused()),
        ]
        for error in errors {
            let failure = Exchange.Failure(error, request: request)
            #expect(failure.error.exitCode == .plugin && failure.code == "pluginFailed")
            #expect(failure.error.message.containsBytes(of: "the quota is used up"))
        }
    }

    @Test func `the code of a plugin's failure is kept`() {
        let error = PluginError(
            plugin: "a.b", hook: .prepare, kind: .failed, code: "token-expired", message: "why")
        let failure = Exchange.Failure(
            .requestAdaptationFailed(error: error), request: request)
        #expect(failure.error.pluginCode == "token-expired")
    }
}

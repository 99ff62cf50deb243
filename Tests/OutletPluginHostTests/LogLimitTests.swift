import OutletProvider
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletPluginHost

/// The limit of the log lines of a plugin.
@Suite(.timeLimit(.minutes(patience))) struct LogLimitTests {
    private static let second: UInt64 = 1_000_000_000

    /// Counts lines at a time, and returns how many are logged.
    private func log(
        _ count: Int, _ limit: inout LogLimit, _ level: PluginLogLine.Level = .info,
        at time: UInt64
    ) -> Int {
        (0..<count).count { _ in
            if case .logged = limit.admit(level, at: time) { true } else { false }
        }
    }

    @Test func `a thousand lines are logged at once, and others are counted`() {
        var limit = LogLimit()
        #expect(log(1500, &limit, at: Self.second) == 1000)
        #expect(limit.admit(.info, at: Self.second) == .leftOut(isFirst: false))
        let rest = limit.takeLeftOut()
        #expect(rest.map(\.level) == [.info] && rest.map(\.count) == [501])
        #expect(limit.takeLeftOut().isEmpty)
    }

    @Test func `a hundred lines are logged in each second after that, with the number of others`() {
        var limit = LogLimit()
        #expect(log(1100, &limit, at: Self.second) == 1000)
        let next = 2 * Self.second
        #expect(limit.admit(.info, at: next - 1) == .leftOut(isFirst: false))
        #expect(limit.admit(.info, at: next) == .logged(leftOut: 101))
        #expect(log(1000, &limit, at: next) == 99)
        #expect(log(1000, &limit, at: 100 * Self.second) == 1000)
    }

    @Test func `many lines of one level leave out none of others`() {
        var limit = LogLimit()
        #expect(log(2000, &limit, .debug, at: 1) == 1000)
        #expect(log(1000, &limit, .error, at: 1) == 1000)
        #expect(limit.takeLeftOut().map(\.level) == [.debug])
    }

    @Test(arguments: ["1", "3"])
    func `a plugin that logs very often is limited, and the number of the others is logged`(
        level: String
    ) async throws {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "LogsOften").load(
            configuration: ["faulty.logs-often": #"{"level": "\#(level)"}"#], observer: recorder)
        _ = try await host.provider(over: StubTransport(answers: [.status(200)])).request(.page)
        _ = await host.shutDown(deadline: .seconds(30))
        let lines = recorder.lines.values
        let logged = lines.count { ["again", "last"].contains($0.message) }
        let leftOut = lines.compactMap {
            $0.message.hasSuffix(" lines of this level were left out, because it logs too many")
                ? Int($0.message.prefix { $0.isNumber }) : nil
        }
        #expect((1000..<5000).contains(logged))
        #expect(logged + leftOut.reduce(0, +) == 5001)
        #expect(
            lines.contains { $0.message.hasPrefix("it logs more than 1000 lines of this level") })
        if level == "1" { #expect(lines.contains { $0.message == "last" && $0.level == .error }) }
    }

    @Test func `the host's lines about refused calls are limited, too`() async throws {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "LogsOften").load(
            configuration: ["faulty.logs-often": #"{"what": "refusals"}"#], observer: recorder)
        _ = try await host.provider(over: StubTransport(answers: [.status(200)])).request(.page)
        _ = await host.shutDown(deadline: .seconds(30))
        let refused = recorder.lines.values.count { $0.message.contains("was refused") }
        #expect((1000..<5000).contains(refused))
    }
}

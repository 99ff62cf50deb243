import OutletProvider
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@testable import OutletPluginHost

/// Values that the ABI does not define count as failures, in every hook and function of a plugin.
@Suite(.timeLimit(.minutes(2))) struct OddValueTests {
    private func host(_ mode: String) throws -> PluginHost {
        try PluginFolder(faulty: "OddValues").load(
            configuration: ["faulty.odd-values": #"{"mode": "\#(mode)"}"#])
    }

    private static let undefined = "it returned 77, which is no status"

    @Test(
        arguments: [
            ("prepare", "prepare", undefined, [:]), ("adapt", "adapt", undefined, [:]),
            ("adapt_done", "adapt", "settled with 77, which is no status", [.forbiddenValue: 1]),
            (
                "adapt_done null", "adapt",
                "the plugin's reason cannot be read: its message is null, but has a length",
                [.forbiddenValue: 1]
            ),
            ("adapt_done and fail", "adapt", "the second thought", [.forbiddenValue: 1]),
        ] as [(String, String, String, [PluginMisbehaviour.Kind: Int])])
    func `no request is sent after an undefined status of prepare or adapt`(
        mode: String, hook: String, reason: String, noted: [PluginMisbehaviour.Kind: Int]
    ) async throws {
        let host = try host(mode)
        let stub = StubTransport(answers: [.status(200)])
        let provider = host.provider(over: stub)
        let error = await pluginError { try await provider.request(.page) }
        #expect(error?.description == "plugin faulty.odd-values: \(hook) failed: \(reason)")
        #expect(stub.requests.isEmpty)
        #expect(host.plugins.first?.misbehaviour == noted)
    }

    @Test(
        arguments: [
            (
                "fail",
                "prepare failed: status -1, without a reason that can be read: its message is "
                    + "not UTF-8",
                [:]
            ), ("fail-later", "prepare failed (first): the first reason", [:]),
            (
                "done",
                "prepare failed: the plugin's reason cannot be read: its message is not UTF-8",
                [.forbiddenValue: 1]
            ),
        ] as [(String, String, [PluginMisbehaviour.Kind: Int])])
    func `a reason that is not UTF-8 is refused, and the failure says so`(
        to: String, failure: String, noted: [PluginMisbehaviour.Kind: Int]
    ) async throws {
        let host = try PluginFolder(faulty: "BadText").load(
            configuration: ["faulty.bad-text": #"{"to": "\#(to)"}"#])
        let provider = host.provider(over: StubTransport(answers: [.status(200)]))
        let error = await pluginError { try await provider.request(.page) }
        #expect(error?.description == "plugin faulty.bad-text: \(failure)")
        #expect(host.plugins.first?.misbehaviour == noted)
    }

    @Test func `a create whose reason is not UTF-8 fails, and the failure says so`() throws {
        let host = try PluginFolder(faulty: "BadText").load(
            configuration: ["faulty.bad-text": #"{"to": "create"}"#])
        #expect(
            host.failures.first?.description.hasSuffix(
                "'faulty.bad-text' could not start: status -1, without a reason that can be read: "
                    + "its message is not UTF-8") == true)
    }

    @Test func `a function of the caller's is not called with a text that is not UTF-8`() throws {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "BadText").load(
            configuration: ["faulty.bad-text": #"{"to": "caller"}"#], observer: recorder)
        let calls = Recorder<PluginValue>()
        let callback = PluginCallback { arguments in
            calls.record(arguments[0])
            return true
        }
        #expect(try host.call("faulty.bad-text.call_back", [.function(callback)]) == 7)
        #expect(calls.count == 0)
        #expect(
            recorder.lines.values.map(\.message) == [
                "a call of the caller's function was refused: its text is not UTF-8"
            ])
    }

    @Test func `a process hook that returns an undefined status fails the request`() async throws {
        let provider = try host("process").provider(over: StubTransport(answers: [.status(200)]))
        let error = await pluginError { try await provider.request(.page) }
        #expect(error?.message == Self.undefined)
    }

    @Test(
        arguments: [
            ("retry", undefined, [:]),
            ("retry_done", "settled with 77, which is no verdict", [.forbiddenValue: 1]),
            ("retry_done and fail", "status -1, without a reason", [.forbiddenValue: 1]),
        ] as [(String, String, [PluginMisbehaviour.Kind: Int])])
    func `no request is retried after an undefined status or verdict of retry`(
        mode: String, reason: String, noted: [PluginMisbehaviour.Kind: Int]
    ) async throws {
        let host = try host(mode)
        let stub = StubTransport(answers: [.status(503), .status(200)])
        let provider = host.provider(over: stub)
        let error = await pluginError { try await provider.request(.page) }
        #expect(error?.hook == .retry && error?.message == reason)
        #expect(stub.requests.count == 1)
        #expect(host.plugins.first?.misbehaviour == noted)
    }

    @Test func `a plugin whose create returns an undefined status does not start`() throws {
        #expect(
            try host("create").failures.map(\.description).first?.contains(
                "'faulty.odd-values' could not start: \(Self.undefined)") == true)
    }

    @Test(arguments: [
        ("quiesce", "it returned 42, which is no status"), ("quiesce-reason", "the file is full"),
    ])
    func `a failure of quiesce is counted as misbehaviour, with its reason`(
        mode: String, reason: String
    ) async throws {
        let recorder = ActivityRecorder()
        let host = try PluginFolder(faulty: "OddValues").load(
            configuration: ["faulty.odd-values": #"{"mode": "\#(mode)"}"#], observer: recorder)
        #expect(await host.shutDown().isEmpty)
        #expect(recorder.misbehaviours.values.map(\.fact) == ["quiesce failed: \(reason)"])
    }

    @Test(arguments: [
        ("odd", undefined),
        (
            "late",
            "not yet (it returned OUTLET_PENDING, which only quiesce and hooks with a completion may)"
        ),
    ])
    func `a function that returns an undefined status has failed`(name: String, reason: String)
        throws
    {
        let host = try host("")
        var failure = PluginError(
            plugin: "faulty.odd-values", hook: .call, kind: .failed, message: reason)
        failure.function = name
        failure.reasonFault = .undefinedStatus
        #expect(throws: PluginCallError.failed(failure)) {
            try host.call("faulty.odd-values.\(name)")
        }
    }

    @Test func `messages that plugins see are no longer than those that they may pass`() {
        let long = String(repeating: "\u{20AC}", count: 4000)
        let error = TransferError(code: .timedOut, reason: long)
        let (code, message) = FailureText.of(error)
        #expect(code == "timedOut" && message.utf8.count <= 4096 && message.hasSuffix("…"))
        let untrusted = SessionError.serverTrustEvaluationFailed(reason: .noCertificatesFound)
        #expect(FailureText.of(untrusted).code == "serverCertificateUntrusted")
    }
}

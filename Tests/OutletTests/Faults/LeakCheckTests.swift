import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

extension AloneTests {
    /// The fault tests again, in a separate process: no descriptor, thread or memory leaks.
    @Suite(.timeLimit(.minutes(2 * patience))) struct LeakCheckTests {
        @Test func `cancelled requests leak nothing`() async {
            await #expect(processExitsWith: .success) {
                try await LeakCheck.none {
                    for stage in CancelStage.allCases {
                        for kind in RequestKind.allCases {
                            let scene = try await stage.scene(kind)
                            #expect(
                                try await scene.cancel().error?.isExplicitlyCancelledError == true)
                        }
                    }
                }
            }
        }

        @Test func `lost connections leak nothing`() async {
            await #expect(processExitsWith: .success) {
                try await LeakCheck.none {
                    let tests = DroppedConnectionTests()
                    for (framing, other) in zip(Framing.plain, Framing.coded) {
                        try await tests.`a response without its last byte is incomplete`(
                            kind: .data, framing: framing)
                        try await tests.`a reset at any byte is a lost connection`(
                            kind: .download, framing: other)
                    }
                }
            }
        }

        @Test func `stalled, faulty and flooding servers leak nothing`() async {
            await #expect(processExitsWith: .success) {
                try await LeakCheck.none {
                    let (floods, lies) = (FloodTests(), LyingServerTests())
                    for kind in [RequestKind.data, .download] {
                        let stalls = try StallTests()
                        try await stalls
                            .`a server that stalls at any point of its response times out`(
                                kind: kind)
                        try await stalls
                            .`a slow name lookup does not delay a timeout, a cancel or other requests`(
                                kind: kind)
                        try await floods.`endless interim responses are refused`(kind: kind)
                        try await floods.`circular and endless redirects are limited to 20`(
                            kind: kind)
                        try await lies.`a body shorter than its declared length is an error`(
                            kind: kind)
                    }
                }
            }
        }
    }
}

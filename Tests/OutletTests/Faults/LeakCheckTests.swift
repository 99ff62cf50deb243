import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

extension AloneTests {
    /// Each family once more, in a process of its own: no descriptor, thread or memory is left.
    @Suite(.timeLimit(.minutes(2 * patience))) struct LeakCheckTests {
        @Test func `nothing is left of cancelled requests`() async {
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

        @Test func `nothing is left of broken connections`() async {
            await #expect(processExitsWith: .success) {
                try await LeakCheck.none {
                    let tests = DroppedConnectionTests()
                    for (framing, other) in zip(Framing.plain, Framing.coded) {
                        try await tests.`a response is never whole without its last byte`(
                            kind: .data, framing: framing)
                        try await tests.`a reset is a lost connection, whatever came before`(
                            kind: .download, framing: other)
                    }
                }
            }
        }

        @Test func `nothing is left of stalls, lies and floods`() async {
            await #expect(processExitsWith: .success) {
                try await LeakCheck.none {
                    let (floods, lies) = (FloodTests(), LyingServerTests())
                    for kind in [RequestKind.data, .download] {
                        let stalls = try StallTests()
                        try await stalls
                            .`a server that falls silent anywhere in its answer times out`(
                                kind: kind)
                        try await stalls.`a name service that takes ten seconds is not waited for`(
                            kind: kind)
                        try await floods.`interim answers without end are refused`(kind: kind)
                        try await floods.`redirects in a circle, and without end, are counted`(
                            kind: kind)
                        try await lies.`more is announced than comes`(kind: kind)
                    }
                }
            }
        }
    }
}

import CPluginCheck
import Testing

@testable import OutletPluginCheck

/// Which growth of what the process holds counts as a leak.
@Suite struct LeakRoundsTests {
    /// The result of six rounds of 40 calls, after each of which the process has so many KiB of
    /// mappings more than at the start.
    private func result(mappings: [Int], settled: Int? = nil) -> LeakRounds.Result {
        func holdings(_ size: Int) -> ProcessHoldings {
            var holdings = cplugincheck_holdings()
            holdings.mapped = UInt64(size + 100_000) * 1024
            return ProcessHoldings(holdings)
        }
        var rounds = LeakRounds(from: holdings(0), bound: .fine)
        for size in mappings { rounds.add(holdings(size), calls: 40) }
        if rounds.haveGrowth { rounds.settle(holdings(settled ?? mappings.last ?? 0)) }
        return rounds.result
    }

    @Test func `what grows in every round is a leak`() {
        #expect(result(mappings: [80, 160, 240, 320, 400, 480]) == .leak("480 KiB of mappings"))
    }

    @Test func `what a later round frees does not hide the growth`() {
        #expect(result(mappings: [800, 160, 240, 320, 400, 480]) == .leak("480 KiB of mappings"))
        #expect(
            result(mappings: [80, 160, -8000, -7920, -7840, -7760]) == .leak("400 KiB of mappings"))
    }

    @Test func `what is freed after the rounds is no leak`() {
        #expect(result(mappings: [80, 160, 240, 320, 400, 480], settled: 400) == .nothing)
    }

    @Test(arguments: [
        [80, 80, 80, 80, 80, 80], [0, 80, 160, 240, 320, 400], [Int](repeating: 65_536, count: 6),
    ])
    func `what does not grow in a round is no leak`(mappings: [Int]) {
        #expect(result(mappings: mappings) == .nothing)
    }
}

import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletCurl
import OutletTransport

@Suite struct OriginRegistryTests {
    private let registry = OriginRegistry()

    private func origin() throws -> Origin {
        try Origin(#require(URL(string: "https://a.test")))
    }

    @Test func `figures are current until their origin is removed`() throws {
        let origin = try origin()
        let figures = OriginFigures(origin, nil)
        registry.add(figures)
        figures.active = 2
        figures.waiting = 3
        figures.webSockets = 1
        let shown = try #require(registry.figures.first)
        #expect(shown.origin == origin)
        #expect(shown.figures.activeRequests == 3)
        #expect(shown.figures.requestsWaiting == 3)
        figures.active = 0
        #expect(registry.figures.first?.figures.activeRequests == 1)
        registry.remove(figures)
        #expect(registry.figures.isEmpty)
    }

    @Test func `the number of idle connections is never negative`() throws {
        let figures = OriginFigures(try origin(), nil)
        registry.add(figures)
        figures.active = 5
        #expect(registry.figures.first?.figures.idleConnections == 0)
    }

    @Test func `removing an origin does not remove an equal one that was added later`() throws {
        let origin = try origin()
        let (former, next) = (OriginFigures(origin, nil), OriginFigures(origin, nil))
        registry.add(former)
        registry.add(next)
        next.waiting = 7
        registry.remove(former)
        #expect(registry.figures.map(\.figures.requestsWaiting) == [7])
    }

    @Test func `a queue is registered while it exists`() throws {
        let origin = try origin()
        do {
            let queue = OriginQueue<String>(origin, limit: 1, registry: registry)
            withExtendedLifetime(queue) {
                #expect(registry.figures.map(\.origin) == [origin])
            }
        }
        #expect(registry.figures.isEmpty)
    }
}

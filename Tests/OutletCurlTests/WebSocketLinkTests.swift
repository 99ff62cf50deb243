import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletCurl
import OutletTransport

@Suite struct `The send queue of a WebSocket` {
    /// The results of orders in the order of their completion.
    private let results = Recorder<String>()

    private func link() throws -> WebSocketLink {
        let link = WebSocketLink(WebSocketJob(request: HTTPRequest(url: nil)))
        let frames: WebSocketFrames = try #require(
            WebSocketFrames(
                maximumMessageSize: 1 << 20, blocks: BlockPool()))
        link.frames = frames
        return link
    }

    private func take(_ name: String, size: Int, _ link: WebSocketLink) {
        let transfer = CurlTransfer(
            TransferJob(request: HTTPRequest(url: nil)), handler: Probe(), loop: nil, patience: nil)
        link.take(
            WebSocketOrder(.send(.data(Data(count: size))), of: transfer) { [results] result in
                results.record((try? result.get()) == nil ? "\(name) failed" : name)
            })
    }

    private func outputSize(_ link: WebSocketLink) -> Int { link.withOutput { $0.count } }

    @Test func `queued messages are sent together, and each completes with its last byte`() throws {
        let link = try link()
        for name in ["a", "b", "c"] { take(name, size: 10, link) }
        #expect(link.refill())
        // Each frame has 2 bytes of header and 4 of mask.
        #expect(outputSize(link) == 3 * 16)
        link.didSend(15)
        #expect(results.values == [])
        link.didSend(17)
        #expect(results.values == ["a", "b"])
        link.didSend(16)
        #expect(results.values == ["a", "b", "c"])
        #expect(!link.hasOutput)
        #expect(!link.refill())
    }

    @Test func `a large message is encoded in pieces`() throws {
        let link = try link()
        take("large", size: 100_000, link)
        take("small", size: 1, link)
        var sizes: [Int] = []
        while link.refill() {
            sizes.append(outputSize(link))
            link.didSend(outputSize(link))
        }
        #expect(sizes.reduce(0, +) == 100_014 + 7)
        #expect(sizes.allSatisfy { $0 <= WebSocketFrames.outputSize })
        #expect(results.values == ["large", "small"])
    }

    @Test func `a message after a close fails after the completion of earlier ones`() throws {
        let link = try link()
        take("a", size: 1, link)
        #expect(link.refill())
        link.frames?.close(.normalClosure, reason: nil)
        take("b", size: 1, link)
        link.didSend(outputSize(link))
        #expect(link.refill())
        #expect(results.values == ["a"])
        link.didSend(outputSize(link))
        #expect(results.values == ["a", "b failed"])
    }

    @Test func `the connection is closed when the last byte of the close frame was sent`() throws {
        let link = try link()
        take("large", size: 2 * WebSocketFrames.outputSize, link)
        let transfer = CurlTransfer(
            TransferJob(request: HTTPRequest(url: nil)), handler: Probe(), loop: nil, patience: nil)
        link.take(WebSocketOrder(.close(.normalClosure, reason: nil), of: transfer))
        while link.refill(), outputSize(link) == WebSocketFrames.outputSize {
            link.didSend(outputSize(link))
        }
        link.didSend(outputSize(link) - 1)
        #expect(results.values == ["large"])
        #expect(!link.isClosed)
        link.didSend(1)
        #expect(link.isClosed && !link.refill())
    }

    @Test func `a close frame of the peer closes the connection`() throws {
        let link = try link()
        #expect(!link.isClosed)
        link.peerClose = (.goingAway, nil)
        #expect(link.isClosed)
    }

    @Test func `each message fails once when the connection is lost`() throws {
        let link = try link()
        take("encoded", size: 1, link)
        #expect(link.refill())
        take("waiting", size: 1, link)
        link.abandon(.webSocketClosed)
        link.abandon(.webSocketClosed)
        #expect(results.values == ["encoded failed", "waiting failed"])
    }
}

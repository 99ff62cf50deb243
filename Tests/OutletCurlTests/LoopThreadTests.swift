#if DEBUG
    import OutletSession
    import OutletTransport
    import Testing

    @testable import OutletCurl

    @Suite struct `The thread of a loop` {
        private static func loop() throws -> EventLoop {
            let settings = TransportSettings(TransportConfiguration(), environment: [:])
            return try EventLoop(
                settings, shared: SharedState(settings.checked), share: 1, isBulk: false)
        }

        @Test func `a debug build stops when another thread calls the loop`() async throws {
            let result = try await #require(
                processExitsWith: .failure, observing: [\.standardErrorContent]
            ) {
                try Self.loop().shutDown(.transportClosed)
            }
            let text = String(decoding: result.standardErrorContent, as: UTF8.self)
            #expect(text.utf8.count > 0 && text.contains("not on the thread that drives the loop"))
        }

        @Test func `the thread that has entered the loop may call it`() throws {
            let loop = try Self.loop()
            let before = loop.executor.enter()
            loop.shutDown(.transportClosed)
            loop.executor.leave(for: before)
            #expect(loop.closing.error?.code == .transportClosed)
            loop.executor.belongs(to: nil)
        }
    }
#endif

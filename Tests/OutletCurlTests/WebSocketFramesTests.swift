import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import Testing

@testable import OutletCurl
import OutletTransport

@Suite struct `A WebSocket's frames` {
    private func frames(_ maximumMessageSize: Int = 1 << 20) throws -> WebSocketFrames {
        try #require(
            WebSocketFrames(
                maximumMessageSize: maximumMessageSize, blocks: BlockPool()))
    }

    /// Returns all bytes that are ready to be sent.
    private func bytes(_ frames: WebSocketFrames) -> [UInt8] {
        var all: [UInt8] = []
        while case let piece = piece(frames), !piece.isEmpty { all += piece }
        return all
    }

    /// Returns the bytes that are encoded at a time.
    private func piece(_ frames: WebSocketFrames) -> [UInt8] {
        var piece: [UInt8] = []
        frames.encode(into: &piece)
        return piece
    }

    private func receive(_ frames: WebSocketFrames, _ bytes: [UInt8]) -> [WebSocketFrames.Event] {
        var received = Fifo<WebSocketFrames.Event>()
        bytes.withUnsafeBytes { frames.receive($0, into: &received) }
        var events: [WebSocketFrames.Event] = []
        while let event = received.popFirst() { events.append(event) }
        return events
    }

    @Test func `control frames are not subject to the message size limit`() throws {
        let frames = try frames(1)
        let ping = WebSocketFrame(opcode: .ping, payload: Array(repeating: 1, count: 125))
        #expect(
            receive(frames, ping.bytes + WebSocketFrame.text("a").bytes) == [.message(.string("a"))]
        )
        #expect(
            receive(frames, WebSocketFrame.close(1000, "why").bytes)
                == [.close(.normalClosure, reason: Data("why".utf8))])
        #expect(frames.fault == nil)
        #expect(frames.isCloseReceived)
    }

    @Test func `a close frame is read whole wherever the buffer of wslay ends`() throws {
        let reason = String(repeating: "\u{20AC}", count: 40)
        // wslay's buffer has 4096 bytes; the header of the text takes four of them.
        for size in 3900...4096 {
            let frames = try frames()
            let text = String(repeating: "a", count: size)
            let events = receive(
                frames, WebSocketFrame.text(text).bytes + WebSocketFrame.close(1000, reason).bytes)
            #expect(
                events == [
                    .message(.string(text)), .close(.normalClosure, reason: Data(reason.utf8)),
                ])
            #expect(frames.fault == nil)
        }
    }

    /// The code of a close frame that is ready to be sent.
    private func closeCode(_ bytes: [UInt8]) throws -> Int {
        try #require(bytes.count >= 8 && bytes[0] == 0x88)
        return Int(bytes[6] ^ bytes[2]) << 8 | Int(bytes[7] ^ bytes[3])
    }

    /// Service restart, try again later, bad gateway: wslay 1.1.1 does not know these codes.
    @Test(arguments: [1012, 1013, 1014])
    func `a close code that is newer than RFC 6455 is received and sent back`(code: Int) throws {
        let frame = WebSocketFrame.close(code, "später")
        let event = WebSocketFrames.Event.close(
            WebSocketCloseCode(rawValue: code), reason: Data("später".utf8))
        let text = WebSocketFrame.text(String(repeating: "a", count: 4_000))
        for pieces in [
            [frame.bytes], frame.bytes.map { [$0] }, [text.bytes + frame.bytes + frame.bytes],
        ] {
            let frames = try frames()
            #expect(pieces.flatMap { receive(frames, $0) }.last == event)
            #expect(frames.fault == nil && frames.isCloseReceived)
            #expect(try closeCode(bytes(frames)) == code)
            #expect(!frames.wantsToSend)
        }
        let closing = try frames()
        closing.close(.goingAway, reason: nil)
        #expect(receive(closing, frame.bytes) == [event])
        #expect(try closeCode(bytes(closing)) == 1001)
    }

    @Test(arguments: [
        (WebSocketFrame(opcode: .close, payload: [0x03, 0xF4, 0xC3]), 1007),
        (WebSocketFrame(opcode: .close, payload: [0x03, 0xF4], isFinal: false), 1002),
        (WebSocketFrame(opcode: .close, payload: [0x03, 0xF4], isMasked: true), 1002),
        (.close(1016), 1002),
    ])
    func `a faulty close frame is refused, whatever its code`(
        frame: WebSocketFrame, code: Int
    ) throws {
        let frames = try frames()
        #expect(receive(frames, frame.bytes).isEmpty)
        #expect(!frames.isCloseReceived)
        #expect(try closeCode(bytes(frames)) == code)
        #expect(frames.fault?.rawValue == code)
    }

    @Test(arguments: [
        (WebSocketFrame(opcode: .text, isMasked: true), "a masked frame"),
        (WebSocketFrame(opcode: .init(rawValue: 0x41)), "a reserved bit, without an extension"),
        (WebSocketFrame(opcode: .init(rawValue: 7)), "a frame of the unknown kind 7"),
        (WebSocketFrame(opcode: .pong, isFinal: false), "a fragment of a ping, pong or close"),
        (
            WebSocketFrame(opcode: .close, payload: Array(repeating: 3, count: 126)),
            "close frame above 125 bytes"
        ), (WebSocketFrame(opcode: .close, payload: [3]), "a close frame with half a code"),
        (.close(1006), "the close code 1006"),
        (WebSocketFrame(opcode: .continuation, payload: [65]), "a fragment of no message"),
    ])
    func `a violation is described, wherever the frame stands`(
        frame: WebSocketFrame, text: String
    ) throws {
        let before = WebSocketFrame.text("a").bytes
        // Frames behind it do not matter.
        for after in [[], WebSocketFrame(opcode: .init(rawValue: 6)).bytes] {
            for pieces in [
                [before + frame.bytes + after], (before + frame.bytes + after).map { [$0] },
            ] {
                let frames = try frames()
                #expect(pieces.flatMap { receive(frames, $0) } == [.message(.string("a"))])
                #expect(frames.fault == .protocolError)
                #expect(frames.violation.contains(text), "\(frames.violation)")
            }
        }
    }

    @Test(
        arguments: [
            [0x82, 126, 0, 125], [0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255],
            [0x82, 127, 128, 0, 0, 0, 0, 1, 0, 0],
        ] as [[UInt8]])
    func `a length that is not in its shortest form is described`(header: [UInt8]) throws {
        let frames = try frames()
        #expect(receive(frames, header + [0]).isEmpty)
        #expect(frames.fault == .protocolError)
        #expect(frames.violation.hasPrefix("a frame whose length"), "\(frames.violation)")
    }

    @Test func `many frames in one piece are received in order, and a header after them waits`()
        throws
    {
        let frames = try frames()
        let texts = (0..<500).map { String(repeating: "a", count: $0) }
        let bytes = texts.flatMap { WebSocketFrame.text($0).bytes }
        let expected = texts.map { WebSocketFrames.Event.message(.string($0)) }
        let last = WebSocketFrame.text("last").bytes
        #expect(receive(frames, bytes + last.prefix(1)) == expected)
        #expect(receive(frames, Array(last.dropFirst(1).prefix(3))) == [])
        #expect(receive(frames, Array(last.dropFirst(4))) == [.message(.string("last"))])
    }

    @Test func `a message of exactly the limit is accepted, and one more byte is refused`() throws {
        let frames = try frames(70_000)
        let fitting = WebSocketFrame(opcode: .binary, payload: Array(repeating: 1, count: 70_000))
        #expect(receive(frames, fitting.bytes) == [.message(.data(Data(fitting.payload)))])
        let large = WebSocketFrame(opcode: .binary, payload: Array(repeating: 1, count: 70_001))
        // The frame's header and one byte are enough: no buffer is allocated for the payload.
        #expect(receive(frames, Array(large.bytes.prefix(11))) == [])
        #expect(frames.fault == .messageTooBig)
    }

    @Test func `a close frame with half a close code is a protocol error`() throws {
        let frames = try frames()
        #expect(receive(frames, WebSocketFrame(opcode: .close, payload: [3]).bytes) == [])
        #expect(frames.fault == .protocolError)
        #expect(bytes(frames).count == 2 + 4 + 2)
    }

    @Test func `the events do not depend on how the bytes are split`() throws {
        let conversation: [WebSocketFrame] = [
            .text("€"), WebSocketFrame(opcode: .binary, payload: Array(repeating: 7, count: 300)),
            WebSocketFrame(opcode: .text, payload: [0xE2], isFinal: false),
            WebSocketFrame(opcode: .pong, payload: Array(1...8)),
            WebSocketFrame(opcode: .continuation, payload: [0x82, 0xAC]),
            .close(1001, "größer – später"),
        ]
        let all = conversation.flatMap(\.bytes)
        let whole = receive(try frames(), all)
        #expect(whole.count == 5)
        #expect(
            whole.last == .close(.goingAway, reason: Data("größer – später".utf8)))
        for cut in 1..<all.count {
            let parted = try frames()
            var events = receive(parted, Array(all[..<cut]))
            events += receive(parted, Array(all[cut...]))
            #expect(events == whole)
        }
        let trickled = try frames()
        #expect(all.flatMap { receive(trickled, [$0]) } == whole)
    }

    @Test func `a close frame across the end of wslay's buffer is read completely`() throws {
        for size in 4_060..<4_100 {
            let bytes =
                WebSocketFrame(opcode: .binary, payload: Array(repeating: 1, count: size)).bytes
                + WebSocketFrame.close(1000, "später").bytes
            #expect(
                receive(try frames(), bytes).last
                    == .close(.normalClosure, reason: Data("später".utf8)))
        }
    }

    @Test func `10,000 empty fragments belong to one message`() throws {
        let frames = try frames()
        let begin = WebSocketFrame(opcode: .text, isFinal: false).bytes
        let middle = WebSocketFrame(opcode: .continuation, isFinal: false).bytes
        #expect(receive(frames, begin) == [])
        for _ in 0..<10_000 { #expect(receive(frames, middle).isEmpty) }
        let end = WebSocketFrame(opcode: .continuation, payload: Array("x".utf8)).bytes
        #expect(receive(frames, end) == [.message(.string("x"))])
    }

    @Test func `after a fault, the message being sent is completed before the close frame`() throws
    {
        let frames = try frames(1)
        #expect(frames.send(.data(Data(count: 100_000))))
        let first = piece(frames)
        #expect(receive(frames, WebSocketFrame.text("ab").bytes).isEmpty)
        #expect(frames.fault == .messageTooBig)
        let rest = bytes(frames)
        // Message: 10 bytes of header, 4 of mask. Close: 2 bytes of header, 4 of mask, 2 of code.
        #expect(first.count + rest.count == 100_014 + 8)
        #expect(rest.suffix(8).first == 0x88)
    }

    @Test func `a message that is queued when the peer closes counts as not sent`() throws {
        let frames = try frames()
        #expect(receive(frames, WebSocketFrame.text("a").bytes).count == 1)
        #expect(frames.send(.string("late")))
        #expect(receive(frames, WebSocketFrame.close(1000).bytes).count == 1)
        #expect(bytes(frames).count == 8)
        #expect(!frames.wantsToSend)
        #expect(frames.backlog == 1)
    }

    @Test func `nothing is sent after a close frame`() throws {
        let frames = try frames()
        frames.close(.goingAway, reason: Data("later".utf8))
        #expect(!frames.send(.string("x")))
        #expect(!frames.ping([1]))
        #expect(bytes(frames).count == 2 + 4 + 2 + 5)
        #expect(!frames.wantsToSend)
    }

    @Test(arguments: [0, 999, 1004, 1005, 1006, 1015, 2000, 5000])
    func `a close code that must not be sent is left out`(code: Int) throws {
        let frames = try frames()
        frames.close(WebSocketCloseCode(rawValue: code), reason: Data("x".utf8))
        #expect(bytes(frames).count == 2 + 4)
    }

    @Test func `a long close reason is cut between characters`() throws {
        let frames = try frames()
        frames.close(.normalClosure, reason: Data(String(repeating: "€", count: 50).utf8))
        #expect(bytes(frames).count == 2 + 4 + 2 + 123)
        let odd = try self.frames()
        odd.close(.normalClosure, reason: Data(("a" + String(repeating: "€", count: 50)).utf8))
        #expect(bytes(odd).count == 2 + 4 + 2 + 121)
    }

    @Test func `masks differ from frame to frame`() throws {
        let frames = try frames()
        var masks: Set<[UInt8]> = []
        for _ in 0..<50 {
            #expect(frames.ping([]))
            masks.insert(Array(bytes(frames)[2..<6]))
        }
        #expect(masks.count == 50)
    }

    @Test func `an invalid frame is answered with close code 1002`() throws {
        let frames = try frames()
        // Not the shortest encoding of the length, which RFC 6455 §5.2 requires.
        #expect(receive(frames, [0x82, 126, 0, 1, 0]).isEmpty)
        #expect(frames.fault == .protocolError)
        let close = bytes(frames)
        #expect(close.count == 8)
        #expect(try close.at(0) == 0x88)
    }
}

@Suite struct `A WebSocket's handshake` {
    private func handshake(
        _ headers: HTTPHeaders = HTTPHeaders(), method: HTTPMethod = .get,
        credential: Credential? = nil
    ) throws(TransferError) -> WebSocketHandshake {
        try WebSocketHandshake(
            HTTPRequest(url: URL(string: "http://example.org/"), method: method, headers: headers),
            target: "/", host: "example.org", credential: credential,
            key: "dGhlIHNhbXBsZSBub25jZQ==")
    }

    @Test func `the accept value for the key of RFC 6455 matches the RFC`() {
        #expect(
            WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test func `field values that are not UTF-8 are sent unchanged`() throws {
        let head = try handshake([HTTPHeader(name: "X", valueBytes: [0xE9])]).head
        #expect(head.suffix(8) == [0x58, 0x3A, 0x20, 0xE9, 0x0D, 0x0A, 0x0D, 0x0A])
    }

    @Test func `custom fields do not change the WebSocket fields of the handshake`() throws {
        let head = String(
            decoding: try handshake(
                [
                    "Host": "other.org", "Sec-WebSocket-Version": "8", "Content-Length": "0",
                    "X-Own": "yes", "Authorization": "Bearer t",
                ], credential: Credential(user: "u", password: "p", scheme: .basic)
            ).head, as: UTF8.self)
        #expect(
            head == """
                GET / HTTP/1.1\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
                Sec-WebSocket-Version: 13\r
                Host: other.org\r
                X-Own: yes\r
                Authorization: Bearer t\r
                \r

                """)
    }

    @Test func `Basic and Bearer credentials are sent, and those of other schemes are not`() throws
    {
        func field(_ credential: Credential) throws -> Substring? {
            let head = String(decoding: try handshake(credential: credential).head, as: UTF8.self)
            return head.split(separator: "\r\n").first { $0.hasPrefix("Authorization: ") }
        }
        #expect(
            try field(Credential(user: "u", password: "p", scheme: .basic))
                == "Authorization: Basic dTpw")
        #expect(try field(Credential(bearerToken: "t")) == "Authorization: Bearer t")
        #expect(try field(Credential(bearerToken: "t\r\nX: y")) == nil)
        #expect(try field(Credential(user: "u", password: "p", scheme: .digest)) == nil)
        #expect(try field(Credential(user: "u", password: "p", scheme: .ntlm)) == nil)
    }

    @Test(arguments: [
        ("Upgrade", "h2c\u{1B}[2J", "Upgrade is not websocket: 'h2c^[[2J'"),
        ("Connection", "\(String(repeating: "x", count: 200))", "xxx…'"),
    ])
    func `an error shows a field of the server without control characters`(
        name: String, value: String, text: String
    ) throws {
        var headers: HTTPHeaders = ["Upgrade": "websocket", "Connection": "Upgrade"]
        headers.update(name: name, value: value)
        let handshake = try handshake()
        let error = #expect(throws: TransferError.self) {
            try handshake.check(HTTPResponse(url: nil, statusCode: 101, headers: headers))
        }
        #expect(error?.reason.hasSuffix(text) == true, "\(error?.reason ?? "")")
    }

    @Test func `an invalid field or method is an error`() {
        #expect(throws: TransferError.self) { try handshake(["X": "a\r\nY: b"]) }
        #expect(throws: TransferError.self) { try handshake(method: .post) }
        for name in ["Connection", "Upgrade", "Transfer-Encoding"] {
            #expect(throws: TransferError.self) { try handshake([name: "close"]) }
        }
    }

    @Test(arguments: [
        ("a", true), ("b", true), ("a, b", false), ("c", false), ("A", false), ("", true),
        ("a b", false), ("a;x", false), (", b ,", true),
    ])
    func `the server may choose only one of the offered subprotocols`(
        chosen: String, isTaken: Bool
    ) throws {
        let response = HTTPResponse(
            url: nil, statusCode: 101,
            headers: [
                "Upgrade": "websocket", "Connection": "Upgrade",
                "Sec-WebSocket-Accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
                "Sec-WebSocket-Protocol": chosen,
            ])
        let handshake = try handshake(["Sec-WebSocket-Protocol": "a, b"])
        #expect(((try? handshake.check(response)) != nil) == isTaken)
    }

    @Test func `a valid response is accepted regardless of case and list position`() throws {
        try handshake(["Sec-WebSocket-Protocol": "a, b"]).check(
            HTTPResponse(
                url: nil, statusCode: 101,
                headers: [
                    "upgrade": "WebSocket", "connection": "keep-alive, UPGRADE",
                    "sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
                    "sec-websocket-protocol": "b",
                ]))
    }
}

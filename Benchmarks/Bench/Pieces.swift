import FoundationEssentials
import Outlet

/// Requests for streams of events or messages; the row's argument is the number of these.
extension Unit {
    // MARK: Server-sent events

    static func events(of session: Session, _ setting: Setting) -> Unit {
        .ending { done in
            let count = Counter()
            session.streamRequest(setting.url, headers: requestFields)
                .responseStreamServerSentEvents { stream in
                    switch stream.event {
                    case .stream(.success): count.add()
                    case .stream(.failure): break
                    case .complete: done(count.value == setting.number)
                    }
                }
        }
    }

    static func awaitedEvents(of session: Session, _ setting: Setting) -> Unit {
        .awaited(on: nil) { @MainActor in
            let request = session.streamRequest(setting.url, headers: requestFields)
            var count = 0
            for await stream in request.streamTask().streamingServerSentEvents()
            where stream.value != nil { count += 1 }
            return count == setting.number
        }
    }

    // MARK: WebSockets

    private static let message = WebSocketMessage.string(String(repeating: "x", count: 120))
    /// The number of messages in flight.
    private static let underWay = 64

    static func socketReceive(of session: Session, _ setting: Setting) -> Unit {
        .ending { done in
            let count = Counter()
            let socket = session.webSocketRequest(to: setting.url)
            socket.streamMessageEvents { event in
                switch event.kind {
                case .receivedMessage:
                    if count.add() == setting.number { socket.close(sending: .normalClosure) }
                case .completed: done(count.value == setting.number)
                default: break
                }
            }
        }
    }

    static func socketAwaited(of session: Session, _ setting: Setting) -> Unit {
        .awaited(on: nil) { @MainActor in
            let socket = session.webSocketRequest(to: setting.url)
            var count = 0
            for await _ in socket.webSocketTask().streamingMessages() {
                count += 1
                if count == setting.number { socket.close(sending: .normalClosure) }
            }
            return count == setting.number
        }
    }

    /// Sends messages, each when an earlier one is sent, until the server replies to the last one.
    static func socketSend(of session: Session, _ setting: Setting) -> Unit {
        .ending { done in
            let socket = session.webSocketRequest(to: setting.url)
            let count = Counter()
            @Sendable func send() {
                guard count.add() <= setting.number else { return }
                socket.send(message) { result in
                    if case .success = result { send() }
                }
            }
            socket.streamMessageEvents { event in
                switch event.kind {
                case .receivedMessage: socket.close(sending: .normalClosure)
                case .completed(let completion):
                    done(completion.error == nil && count.value >= setting.number)
                default: break
                }
            }
            for _ in 0..<underWay { send() }
        }
    }

    /// Sends messages, each when a reply arrives.
    static func socketEcho(of session: Session, _ setting: Setting) -> Unit {
        .ending { done in
            let socket = session.webSocketRequest(to: setting.url)
            let sent = Counter()
            let received = Counter()
            @Sendable func send() {
                guard sent.add() <= setting.number else { return }
                socket.send(message) { _ in }
            }
            socket.streamMessageEvents { event in
                switch event.kind {
                case .receivedMessage:
                    if received.add() == setting.number {
                        socket.close(sending: .normalClosure)
                    } else {
                        send()
                    }
                case .completed: done(received.value == setting.number)
                default: break
                }
            }
            for _ in 0..<underWay { send() }
        }
    }
}

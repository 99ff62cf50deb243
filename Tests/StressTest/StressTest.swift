import Dispatch
import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport

/// Sends `count` requests from four threads, with at most 64 at a time.
final class StressTest: Sendable {
    private static let width = 64
    private static let starters = 4

    let transport: CurlTransport
    /// Transports with few requests: while one is idle, the submitting thread drives its loop.
    let quiet: [CurlTransport]
    let session: Session
    let peers: Peers
    let directory: String
    private let count: Int
    private let tally: Tally
    private let places = DispatchSemaphore(value: width)

    init(_ peers: Peers, count: Int) {
        self.peers = peers
        self.count = count
        tally = Tally(count: count)
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        configuration.httpMaximumConnectionsPerHost = 16
        transport = CurlTransport(configuration: configuration.transport)
        quiet = (0..<8).map { _ in CurlTransport(configuration: configuration.transport) }
        session = Session(
            transport: CurlTransport(configuration: configuration.transport),
            configuration: configuration,
            callbackQueue: DispatchQueue(label: "test.callbacks", attributes: .concurrent))
        directory = FileManager.default.temporaryDirectory.path + "/outlet-test-\(getpid())"
    }

    /// Runs the test.
    ///
    /// - Returns: The faults found; empty if the test passes.
    func run() throws -> [String] {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let workers = try Workers(hands: 3)
        let started = DispatchGroup()
        for starter in 0..<Self.starters {
            started.enter()
            try onOwnThread { [self] in
                for number in stride(from: starter, to: count, by: Self.starters) {
                    guard takePlace() else { break }
                    begin(number, workers)
                }
                started.leave()
            }
        }
        started.wait()
        // Each request holds a place until it ends: with all places taken, all have ended.
        var free = 0
        while free < Self.width, takePlace() { free += 1 }
        workers.dismiss()
        transport.shutDown()
        for transport in quiet { transport.shutDown() }
        session.invalidate()
        for _ in 0..<Self.width { places.signal() }
        print("\(count) requests: \(tally.summary)")
        return tally.faults
    }

    private func takePlace() -> Bool {
        places.wait(timeout: .now() + 150) == .success
    }

    private func begin(_ number: Int, _ workers: Workers) {
        let peer = Peer.random()
        let isCancelled = number % 2 == 0
        let ticket = Ticket(number, peer, isCancelled: isCancelled, test: self)
        let controls = start(ticket)
        if isCancelled {
            cancel(controls, workers)
        } else if Int.random(in: 0..<4) == 0 {
            controls.suspend()
            workers.later {
                controls.resume()
                controls.suspend()
                workers.later { controls.resume() }
            }
        }
    }

    private func cancel(_ controls: Controls, _ workers: Workers) {
        switch Int.random(in: 0..<8) {
        case 0: controls.cancel()
        case 1:
            workers.later { controls.cancel() }
            workers.later { controls.cancel() }
        case 2:
            controls.suspend()
            workers.later { controls.cancel() }
            workers.later { controls.resume() }
        case 3: workers.later { controls.suspend() }; workers.later { controls.cancel() }
        default: workers.later { controls.cancel() }
        }
    }

    /// Counts the end of a request and frees its place for another.
    ///
    /// - Parameters:
    ///   - outcome: A word for the summary: "ok", "cancelled", or the code of the error.
    ///   - facts: The method and the error, for the report of a fault.
    ///   - isSuccess: Whether the response has the status 200 and no error occurred.
    func end(_ ticket: Ticket, _ outcome: String, _ facts: String, isSuccess: Bool) {
        // No behaviour of a server explains these errors: they are faults of the library.
        let isOurs = outcome == "badRequest" || outcome == "unknown"
        let hasReason =
            !isOurs && (ticket.isCancelled || isSuccess || !ticket.peer.isReliable)
        let fault = hasReason ? nil : "\(ticket.peer): \(outcome): \(facts)"
        if tally.end(ticket.number, outcome, fault: fault) { places.signal() }
    }
}

/// One request of a stress test.
struct Ticket: Sendable {
    let number: Int
    let peer: Peer
    let isCancelled: Bool
    let test: StressTest

    init(_ number: Int, _ peer: Peer, isCancelled: Bool, test: StressTest) {
        self.number = number
        self.peer = peer
        self.isCancelled = isCancelled
        self.test = test
    }

    /// The request to send; every fifth one is a `POST` with a body.
    var request: HTTPRequest {
        var request = HTTPRequest(url: URL(string: test.peers.address(of: peer, number: number)))
        request.timeoutInterval = peer.patience
        if number % 5 == 3 {
            request.method = .post
            request.body = .data(Data(count: number % 40_000))
        }
        return request
    }

    /// The path of the file that a download is saved to.
    var path: String { "\(test.directory)/\(number)" }
}

/// The operations on a request that any thread may call.
struct Controls: Sendable {
    let cancel: @Sendable () -> Void
    let suspend: @Sendable () -> Void
    let resume: @Sendable () -> Void
}

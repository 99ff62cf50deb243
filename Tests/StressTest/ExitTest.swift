import Dispatch
import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTransport

/// Ends the program while connections over TLS are made and closed on another thread.
struct ExitTest {
    /// What the program exits with.
    static let code: Int32 = 7

    /// Asks a server again and again, on a connection of its own each time.
    private final class Caller: TransferHandler {
        private let transport: CurlTransport
        private let request: HTTPRequest
        private let answered: DispatchSemaphore
        private let manager: ServerTrustManager?

        init(
            _ transport: CurlTransport, _ request: HTTPRequest, _ answered: DispatchSemaphore,
            _ manager: ServerTrustManager?
        ) {
            self.transport = transport
            self.request = request
            self.answered = answered
            self.manager = manager
        }

        func call() {
            var job = TransferJob(request: request)
            job.serverTrustManager = manager
            _ = transport.start(job, handler: self)
        }

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) {
            if let error = result.error {
                print("fault: \(error)")
                exit(1)
            }
            answered.signal()
            call()
        }
    }

    /// - Parameters:
    ///   - address: Over TLS, of a server that closes the connection.
    ///   - authority: The file with the authority's certificate.
    static func run(_ address: String, authority: String) -> Never {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        configuration.httpVersion = .http1
        configuration.certificateAuthorities = .file(path: authority)
        let transport = CurlTransport(configuration: configuration.transport)
        let request = HTTPRequest(url: URL(string: address))
        let answered = DispatchSemaphore(value: 0)
        // Some are judged in the handshake by an evaluator, some by libcurl.
        let manager = ServerTrustManager(evaluators: ["localhost": DefaultTrustEvaluator()])
        for number in 0..<8 {
            Caller(transport, request, answered, number % 2 == 0 ? manager : nil).call()
        }
        for _ in 0..<16 { answered.wait() }
        usleep(.random(in: 0..<5000))
        exit(code)
    }
}

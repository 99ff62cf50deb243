import Dispatch
import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTransport

/// Calls `exit` while another thread opens and closes TLS connections.
struct ExitTest {
    /// The exit code of a program that passes the test.
    static let code: Int32 = 7

    /// Sends a request again each time it ends.
    ///
    /// The server closes its connections, so each request opens a new one.
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

    /// Runs the test.
    ///
    /// - Parameters:
    ///   - address: An `https` URL of a server that closes the connection after each response.
    ///   - authority: The path of a PEM file with the certificate of the server's authority.
    static func run(_ address: String, authority: String) -> Never {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        configuration.httpVersion = .http1
        configuration.certificateAuthorities = .file(path: authority)
        let transport = CurlTransport(configuration: configuration.transport)
        let request = HTTPRequest(url: URL(string: address))
        let answered = DispatchSemaphore(value: 0)
        // An evaluator verifies the certificate of half of the connections, libcurl that of the
        // other half.
        let manager = ServerTrustManager(evaluators: ["localhost": DefaultTrustEvaluator()])
        for number in 0..<8 {
            Caller(transport, request, answered, number % 2 == 0 ? manager : nil).call()
        }
        for _ in 0..<16 { answered.wait() }
        usleep(.random(in: 0..<5000))
        exit(code)
    }
}

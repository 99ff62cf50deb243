import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTransport

/// `outlet demo`: sends sample requests through provider plugins, session and libcurl to a
/// ``LoopbackServer`` in this process.
struct DemoCommand: Sendable {
    private let loading: PluginLoading
    private let isReport: Bool
    private let console: Console

    init(arguments: ParsedArguments, console: Console) throws(CommandError) {
        guard arguments.operands.isEmpty else {
            throw .usage("demo: takes no operands: \(arguments.operands.joined(separator: " "))")
        }
        self.console = console
        isReport = arguments.isOn(.json)
        var loading = try PluginLoading(arguments, environment: console.environment)
        if loading.places.isEmpty {
            loading.places = SamplePlugins.places(environment: console.environment)
        }
        guard !loading.places.isEmpty else {
            throw CommandError(
                .plugin, "demo: no sample plugins beside the program",
                advice: "'make plugins' makes them, --plugins DIR names their folder")
        }
        self.loading = loading
    }

    /// Sends the requests; ``ExitCode/failure`` if a response is not the expected one.
    func run() async -> ExitCode {
        do {
            return try await runCollection()
        } catch let error as CommandError {
            console.report(error)
            return error.exitCode
        } catch OutputError.closed {
            return .ok
        } catch {
            console.report(CommandError(.failure, "demo: \(error)"))
            return .failure
        }
    }

    private func runCollection() async throws -> ExitCode {
        let server = try LoopbackServer.start()
        defer { server.stop() }
        let watcher = PluginWatcher(console: console, isVerbose: false)
        let host = try loading.loadForWork(observer: watcher, console: console)
        var configuration = SessionConfiguration()
        configuration.headers = SessionOptions.defaultHeaders
        // The server listens on loopback, which a proxy from the environment could not reach.
        configuration.proxy = .none
        let service = RequestService(
            configuration, redirects: .follow, host: host, watcher: watcher)
        let text = DemoText(style: console.outputStyle)
        let totals: Result<DemoTotals, any Error>
        do {
            if !isReport {
                try console.output.write(text.opening(host.plugins, server: server.baseURL))
            }
            totals = .success(try await sendAll(to: server, with: service, text))
        } catch {
            totals = .failure(error)
        }
        // Also after an error, so that no plugin runs while the process ends.
        let isRight = await service.shutDown(console, within: nil)
        let sent = try totals.get()
        if !isReport, !Task.isCancelled { try console.output.write(text.closing(sent)) }
        return sent.unexpected > 0 ? .failure : isRight ? .ok : .plugin
    }

    private func sendAll(
        to server: LoopbackServer, with service: RequestService, _ text: DemoText
    ) async throws -> DemoTotals {
        var totals = DemoTotals()
        for exchange in try targets(server) where !Task.isCancelled {
            let start = ContinuousClock.now
            let body = SpoolingReceiver()
            let answered = await service.sender.send(try exchange.request(), to: body)
            let elapsed = Int64((ContinuousClock.now - start) / .microseconds(1))
            guard !Task.isCancelled else { break }
            totals.add(answered, elapsed: elapsed, isExpected: exchange.isExpected(answered))
            if isReport {
                try report(answered, try body.finish())
            } else {
                try console.output.write(text.exchange(answered, of: exchange, elapsed: elapsed))
            }
        }
        return totals
    }

    private func targets(_ server: LoopbackServer) throws(CommandError) -> [DemoTarget] {
        guard let url = URL(string: server.baseURL) else {
            throw CommandError(.failure, "demo: the server has no address: \(server.baseURL)")
        }
        return DemoTarget.Call.allCases.map { DemoTarget(call: $0, baseURL: url) }
    }

    private func report(_ exchange: Exchange, _ body: BodySpool?) throws(OutputError) {
        try ExchangeReport(showsSecrets: false).write(
            exchange, exitCode: exchange.exitCode(checksStatus: true), body: body,
            layout: .oneLine, to: console.output.write)
    }
}

/// Stores a response's body for a report.
private final class SpoolingReceiver: ResponseReceiver {
    private let spool = Lock<BodySpool?>(nil)

    func receive(_ head: HTTPResponse, to request: HTTPRequest) -> Bool {
        let claimsJSON = head.mimeType.map(BodyText.claimsJSON) ?? false
        spool.withLock { $0 = BodySpool(claimsJSON: claimsJSON, limit: .max) }
        return true
    }

    func receive(_ piece: Data) throws(OutputError) {
        let error = spool.withLock { spool -> OutputError? in
            do throws(OutputError) {
                try spool?.append(piece)
                return nil
            } catch {
                return error
            }
        }
        if let error { throw error }
    }

    /// Returns the complete body, or `nil` without a response; called after the response has ended.
    ///
    /// - Throws: ``OutputError`` if the body's temporary file cannot be read.
    func finish() throws(OutputError) -> BodySpool? {
        var whole = spool.withLock { $0 }
        try whole?.finish()
        return whole
    }
}

extension DemoTarget {
    /// Makes the request that a provider would make of the target.
    fileprivate func request() throws -> HTTPRequest {
        var request = try Provider.defaultEndpointMapping(for: self).urlRequest()
        request.context.target = self
        return request
    }

    /// Whether an exchange ended with the expected status.
    func isExpected(_ exchange: Exchange) -> Bool {
        exchange.failure == nil && exchange.response?.statusCode == expectedStatus
    }
}

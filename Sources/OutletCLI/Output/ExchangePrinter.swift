import FoundationEssentials
import Outlet
import OutletTransport

/// Prints an exchange to stdout and files while it happens, according to the options.
///
/// Thread: any; the calls for one exchange never overlap.
final class ExchangePrinter: ResponseReceiver {
    private struct State {
        /// Set when the head arrives, or the first piece of a body without a head.
        var body: BodyPresenter?
        var sink: BodySink?
        var hasRequest = false
        var error: OutputError?

        /// The stored body; `nil` if there is none, or its temporary file failed.
        var storedBody: BodySpool? {
            if case .failed = error { nil } else { body?.spool }
        }
    }

    private let options: OutputOptions
    private let console: Console
    private let progress: ProgressReporter?
    private let bodyLimit: Int64
    /// The last head received, and the request that was sent for it.
    private let head = Lock<(HTTPResponse, HTTPRequest)?>(nil)
    private let state = Lock(State())

    /// Makes a printer for one exchange.
    ///
    /// - Parameters:
    ///   - options: What to print.
    ///   - console: The program's streams.
    ///   - bodyLimit: The maximum size of a body in a report, in bytes.
    ///   - progress: Erased before the printer writes to the terminal.
    init(
        options: OutputOptions, console: Console, bodyLimit: Int64, progress: ProgressReporter
    ) {
        self.bodyLimit = bodyLimit
        self.options = options
        self.console = console
        self.progress = progress
    }

    // MARK: During the exchange

    func receive(_ head: HTTPResponse, to request: HTTPRequest) -> Bool {
        self.head.withLock { $0 = (head, request) }
        return state.withLock { state in
            do throws(OutputError) {
                begin(head, &state)
                guard !options.isReport else { return true }
                if !options.parts.isEmpty { progress?.erase() }
                try printRequest(request, &state)
                if options.parts.contains(.responseHead) {
                    try console.output.write(heads.response(head))
                }
                // Only if nothing but heads is printed, the body is not read. The timing needs it,
                // and so does the exit code of `--quiet`.
                return options.path != nil || !options.parts.isSubset(of: .heads)
                    || options.parts.isEmpty
            } catch {
                // A body that is written to a file does not need the reader of stdout.
                if error == .closed, options.path != nil { return true }
                state.error = error
                return false
            }
        }
    }

    func receive(_ piece: Data) throws(OutputError) {
        let error = state.withLock { state -> OutputError? in
            do throws(OutputError) {
                if state.body == nil { begin(nil, &state) }
                try state.body?.append(piece)
                return nil
            } catch {
                state.error = error
                return error
            }
        }
        if let error { throw error }
    }

    /// What is known so far of the exchange of a request; also while the output blocks.
    func exchangeSoFar(of request: HTTPRequest) -> Exchange {
        guard let (head, request) = head.withLock({ $0 }) else { return Exchange(request: request) }
        return Exchange(request: request, response: head)
    }

    // MARK: At the end

    /// Prints the rest, and returns the exit code.
    func finish(_ exchange: Exchange) -> ExitCode {
        do {
            return try state.withLock { state throws(OutputError) in try end(exchange, &state) }
        } catch .closed {
            // The reader of stdout has closed it, as `head` does. A transfer that was ended for that
            // has not failed.
            var exchange = exchange
            if state.withLock({ $0.error == .closed }) { exchange.failure = nil }
            if let failure = exchange.failure { console.report(failure.error) }
            return exitCode(of: exchange)
        } catch {
            console.report(CommandError(error))
            return .failure
        }
    }

    /// Prints the rest, and returns the exit code.
    ///
    /// - Throws: ``OutputError`` if stdout, or without a report the file of `--output`, cannot be
    ///   written.
    private func end(_ exchange: Exchange, _ state: inout State) throws(OutputError) -> ExitCode {
        var exchange = exchange
        let isMixed = options.parts != .responseBody
        if state.error == nil {
            do throws(OutputError) {
                try state.body?.finish(
                    isComplete: exchange.failure == nil,
                    endsLine: !options.isReport && (isMixed || console.outputIsTerminal))
            } catch {
                state.error = error
            }
        }
        if let sink = state.sink { save(sink, &exchange, &state) }
        if let error = state.error { try note(error, in: &exchange) }
        let warning = noteJSONFault(state.body?.jsonFault, &exchange)
        let exitCode = exitCode(of: exchange)
        if options.isReport {
            ProcessEnd.beginReport()
            let report = ExchangeReport(showsSecrets: options.showsSecrets)
            try report.write(
                exchange, exitCode: exitCode, body: state.storedBody,
                layout: options.formats ? .pretty(options.style, isReport: true) : .oneLine,
                to: console.output.write)
            ProcessEnd.didPrintReport(with: exitCode)
        } else {
            try printRequest(exchange.request, &state)
            let hasBody = (state.body?.count ?? 0) > 0 && options.showsBody
            if options.parts.contains(.responseHead), !exchange.trailers.isEmpty {
                let text = heads.trailers(exchange.trailers)
                try console.output.write((hasBody ? "\n" : "") + text)
            }
            try printMetadata(exchange, hasBody: hasBody || !exchange.trailers.isEmpty)
        }
        if let warning { console.report(warning) }
        if let failure = exchange.failure {
            console.report(failure.error)
        } else if let line = statusLine(of: exchange) {
            console.report(line)
        }
        if let lateSignal = exchange.lateSignal { console.report(lateSignal.error) }
        if let note = exchange.retryNote { console.note(note) }
        return exitCode
    }

    /// The line about a status that sets the exit code, if only the body is printed; `nil` otherwise.
    private func statusLine(of exchange: Exchange) -> String? {
        guard options.checksStatus, !options.isReport, options.parts.contains(.responseBody),
            !options.parts.contains(.responseHead), let response = exchange.response
        else { return nil }
        let code = ExitCode(status: response.statusCode)
        guard code != .ok else { return nil }
        let url = response.url ?? exchange.request.url
        let place = Redaction.standard.address(url?.absoluteString ?? "")
        return CommandError(
            code, "\(place): \(heads.status(of: response))",
            advice: response.isRedirect ? "-F follows redirects" : ""
        ).description
    }

    /// Closes the file of the body, and records its path in the exchange.
    private func save(_ sink: BodySink, _ exchange: inout Exchange, _ state: inout State) {
        let isEmpty = exchange.failure == nil && state.error == nil && sink.bytes == 0
        let isWanted = isEmpty && (exchange.hasEmptyContent || sink.isSpecial)
        if isWanted {
            do throws(OutputError) { try sink.write(Data()) } catch { state.error = error }
        } else if isEmpty {
            console.note("outlet: \(sink.path): not written, because the response has no body")
        }
        do throws(OutputError) { try sink.close() } catch { state.error = state.error ?? error }
        if sink.bytes > 0 || isWanted { exchange.savedPath = sink.path }
        guard let failure = exchange.failure, sink.bytes > 0, state.error == nil else { return }
        let held = "\(sink.path) holds the first \(Quantity.bytes(sink.bytes))"
        exchange.failure?.error.advice =
            failure.error.advice.isEmpty ? held : "\(failure.error.advice); \(held)"
    }

    /// Records a write error as the exchange's failure, for a report.
    ///
    /// - Throws: The error itself without a report, or if stdout is closed.
    private func note(_ error: OutputError, in exchange: inout Exchange) throws(OutputError) {
        guard options.isReport else { throw error }
        switch error {
        case .closed: throw error
        case .failed: exchange.failure = Exchange.Failure(error, stage: "receiving")
        case .tooLarge(let limit):
            exchange.failure = Exchange.Failure(bodyAbove: limit, request: exchange.request)
        }
    }

    /// Handles a body that claims to be JSON but is invalid.
    ///
    /// It is a failure if the command line asks for JSON, and a warning if JSON is indented by
    /// default.
    ///
    /// - Returns: The warning; `nil` if there is none.
    private func noteJSONFault(_ fault: JSONSyntaxError?, _ exchange: inout Exchange) -> String? {
        guard let fault, exchange.failure == nil else { return nil }
        let place = Redaction.standard.address(
            exchange.request.url?.absoluteString ?? "the response")
        let type = exchange.response?.mimeType ?? "application/json"
        let error = CommandError(.failure, "\(place): the body claims to be \(type): \(fault)")
        guard options.readsJSON else { return error.description }
        exchange.failure = Exchange.Failure(
            error: error, code: "cannotDecodeJSON", stage: "decoding")
        return nil
    }

    /// Returns the exit code; an error status takes precedence over an invalid JSON body.
    private func exitCode(of exchange: Exchange) -> ExitCode {
        guard exchange.failure?.code == "cannotDecodeJSON", options.checksStatus,
            let status = exchange.response?.statusCode, ExitCode(status: status) != .ok
        else { return exchange.exitCode(checksStatus: options.checksStatus) }
        return ExitCode(status: status)
    }

    // MARK: Parts

    private var heads: HeadText {
        HeadText(style: options.style, showsSecrets: options.showsSecrets)
    }

    /// Makes the presenter of the body.
    ///
    /// - Parameters:
    ///   - head: The response's head; `nil` if the scheme has none, such as `file:`.
    ///   - state: The state to store the presenter in.
    private func begin(_ head: HTTPResponse?, _ state: inout State) {
        let claimsJSON = head?.mimeType.map(BodyText.claimsJSON) ?? false
        if let path = options.path {
            let sink = BodySink(path: path)
            state.sink = sink
            state.body = .saving(sink, console)
        } else if options.isReport {
            state.body = .spooling(BodySpool(claimsJSON: claimsJSON, limit: bodyLimit), console)
        } else if options.parts.contains(.responseBody) {
            state.body = .showing(
                claimsJSON: claimsJSON, options, console, progress: progress)
        } else {
            state.body = .discarding(console)
        }
    }

    /// Prints the request; does nothing when called again.
    private func printRequest(
        _ request: HTTPRequest, _ state: inout State
    ) throws(OutputError) {
        guard !state.hasRequest else { return }
        state.hasRequest = true
        // For a file nothing is sent.
        if options.parts.contains(.requestHead), request.url?.isFileURL != true {
            try console.output.write(heads.request(request))
        }
        guard options.parts.contains(.requestBody) else { return }
        switch request.body {
        case .none: return
        case .file(let path): try console.output.write("(\(singleLine(path)))\n\n")
        case .stream(let stream):
            try console.output.write(stream is StandardInputBody ? "(stdin)\n\n" : "(a stream)\n\n")
        case .data(let data):
            let rules: Redaction = options.showsSecrets ? .none : .standard
            guard let shown = rules.requestBody(data, of: request.headers) else {
                try console.output.write("(\(Quantity.bytes(Int64(data.count))) with a coding)\n\n")
                return
            }
            let type = request.headers["Content-Type"]?.prefix(whileByte: { $0 != 0x3B })
            let claimsJSON = type.map { BodyText.claimsJSON(String($0.trimmingBlanks)) } ?? false
            var body = BodyPresenter.showing(claimsJSON: claimsJSON, options, console)
            try body.append(shown)
            try body.finish(isComplete: true, endsLine: true)
            try console.output.write("\n")
        }
    }

    private func printMetadata(_ exchange: Exchange, hasBody: Bool) throws(OutputError) {
        let metadata = MetadataText(style: options.style)
        var text = ""
        if options.parts.contains(.plugins) { text += metadata.plugins(exchange.actions) }
        if options.parts.contains(.metadata) { text += metadata.transfer(exchange) }
        guard !text.isEmpty else { return }
        try console.output.write((hasBody ? "\n" : "") + text)
    }
}

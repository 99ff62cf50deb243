import FoundationEssentials
import Outlet

/// Puts an exchange on stdout and into files, as the options say.
struct ExchangePrinter {
    let options: OutputOptions
    let console: Console

    /// Prints everything, and answers with the exit code that came of it.
    func exitCode(printing exchange: Exchange) -> ExitCode {
        do {
            return try print(exchange)
        } catch .failed(let name, let reason) {
            console.report(CommandError(.failure, "\(name): cannot be written: \(reason)"))
            return .failure
        } catch {
            // Whoever read the output has seen enough.
            return .ok
        }
    }

    /// Prints everything, and answers with the exit code that came of it.
    ///
    /// - Throws: ``OutputError`` when stdout, or without a report the file of `--output`, cannot
    ///   be written.
    private func print(_ exchange: Exchange) throws(OutputError) -> ExitCode {
        var exchange = exchange
        if let path = options.path, exchange.savedPath == nil { save(&exchange, at: path) }
        if let error = exchange.outputError { try note(error, in: &exchange) }
        // Bytes that go out as they came are nobody's to judge.
        if options.isReport || options.formats, exchange.failure == nil {
            exchange.failure = brokenJSON(exchange)
        }
        let exitCode = exitCode(of: exchange)
        if options.isReport {
            try printReport(exchange, exitCode: exitCode)
        } else {
            try printParts(exchange)
        }
        if let failure = exchange.failure { console.report(failure.error) }
        return exitCode
    }

    /// A body that is not the JSON it claims to be matters less than a status that is an error.
    private func exitCode(of exchange: Exchange) -> ExitCode {
        guard exchange.failure?.code == "cannotDecodeJSON", options.checksStatus,
            let status = exchange.response?.statusCode, ExitCode(status: status) != .ok
        else { return exchange.exitCode(checksStatus: options.checksStatus) }
        return ExitCode(status: status)
    }

    private func brokenJSON(_ exchange: Exchange) -> Exchange.Failure? {
        guard let body = exchange.body,
            case .brokenJSON(let fault) = BodyText.content(
                of: body, claimsJSON: exchange.claimsJSON)
        else { return nil }
        let place = Redaction.url(exchange.request.url?.absoluteString ?? "the response")
        let type = exchange.response?.mimeType ?? "application/json"
        return Exchange.Failure(
            error: CommandError(.failure, "\(place): the body claims to be \(type): \(fault)"),
            code: "cannotDecodeJSON", stage: "decoding")
    }

    /// Writes a body that was collected.
    private func save(_ exchange: inout Exchange, at path: String) {
        guard exchange.failure == nil, exchange.outputError == nil, exchange.response != nil
        else { return }
        let sink = BodySink(path: path)
        do {
            try sink.write(exchange.body ?? Data())
            exchange.savedPath = path
        } catch {
            exchange.outputError = error
        }
    }

    /// A report tells of a file that cannot be written; without one nothing else is printed.
    private func note(_ error: OutputError, in exchange: inout Exchange) throws(OutputError) {
        guard options.isReport, case .failed(let name, let reason) = error else { throw error }
        exchange.failure = Exchange.Failure(
            error: CommandError(.failure, "\(name): cannot be written: \(reason)"),
            code: TransferError.Code.cannotWriteToFile.rawValue, stage: "receiving")
    }

    private func printReport(_ exchange: Exchange, exitCode: ExitCode) throws(OutputError) {
        let value = ExchangeReport(showsSecrets: options.showsSecrets)
            .value(exchange, exitCode: exitCode)
        let text = BodyText.format(value, pretty: options.formats, style: options.style)
        try console.output.write(text + "\n")
    }

    private func printParts(_ exchange: Exchange) throws(OutputError) {
        let heads = HeadText(style: options.style, showsSecrets: options.showsSecrets)
        let metadata = MetadataText(style: options.style)
        if options.parts.contains(.requestHead) {
            try console.output.write(heads.request(exchange.request))
        }
        if options.parts.contains(.requestBody) { try printRequestBody(exchange.request) }
        if options.parts.contains(.responseHead), let response = exchange.response {
            try console.output.write(heads.response(response))
        }
        if options.parts.contains(.responseBody), exchange.savedPath == nil {
            try printResponseBody(exchange)
        }
        var text = ""
        if options.parts.contains(.plugins) { text += metadata.plugins(exchange.actions) }
        if options.parts.contains(.metadata) { text += metadata.transfer(exchange) }
        guard !text.isEmpty else { return }
        try console.output.write((exchange.body?.isEmpty == false ? "\n" : "") + text)
    }

    private func printRequestBody(_ request: HTTPRequest) throws(OutputError) {
        switch request.body {
        case .none: return
        case .file(let path): try console.output.write("(\(path))\n\n")
        case .stream: try console.output.write("(a stream)\n\n")
        case .data(let data):
            let isJSON = request.headers["Content-Type"]?.hasPrefix("application/json") == true
            try printBody(data, claimsJSON: isJSON, endsLine: true)
            try console.output.write("\n")
        }
    }

    private func printResponseBody(_ exchange: Exchange) throws(OutputError) {
        guard let body = exchange.body, !body.isEmpty, exchange.failure?.stage != "receiving"
        else { return }
        let isMixed = options.parts != .responseBody
        try printBody(
            body, claimsJSON: exchange.claimsJSON, endsLine: isMixed || console.outputIsTerminal)
    }

    private func printBody(_ body: Data, claimsJSON: Bool, endsLine: Bool) throws(OutputError) {
        guard options.formats || options.style.isOn || console.outputIsTerminal else {
            try console.output.write(body)
            if endsLine, body.last != UInt8(ascii: "\n") { try console.output.write("\n") }
            return
        }
        switch BodyText.content(of: body, claimsJSON: claimsJSON) {
        case .json(let value) where options.formats:
            try console.output.write(
                BodyText.format(value, pretty: true, style: options.style) + "\n")
            return
        case .binary where console.outputIsTerminal:
            let size = Quantity.bytes(Int64(body.count))
            try console.output.write("(\(size) of binary data: -o FILE saves it)\n")
            return
        default:
            try console.output.write(body)
        }
        if endsLine, body.last != UInt8(ascii: "\n") { try console.output.write("\n") }
    }
}

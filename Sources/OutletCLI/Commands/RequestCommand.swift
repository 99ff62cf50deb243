import FoundationEssentials
import Glibc
import Outlet
import OutletTransport

/// `outlet [METHOD] URL [ITEM…]`.
struct RequestCommand: Sendable {
    private let request: HTTPRequest
    private let configuration: SessionConfiguration
    private let output: OutputOptions
    private let followsRedirects: Bool
    private let countdown: Countdown?
    private let loading: PluginLoading
    private let watcher: PluginWatcher
    private let isVerbose: Bool
    private let console: Console

    /// Validates the whole command line, and reads stdin if it contains the body.
    ///
    /// - Parameters:
    ///   - arguments: The parsed command line.
    ///   - console: The program's streams.
    ///   - countdown: The time limit; `nil` if there is none.
    /// - Throws: ``CommandError``; nothing has been sent then.
    ///
    /// Thread: blocks until the ends of files and pipes that it reads.
    init(arguments: ParsedArguments, console: Console, countdown: Countdown?) throws {
        self.console = console
        output = try OutputOptions(
            arguments, isTerminal: console.outputIsTerminal, style: console.outputStyle)
        var configuration = try SessionOptions.configuration(arguments)
        let asked = try RequestArguments(arguments, readFile: readFile)
        for name in asked.unsetHeaders { configuration.headers.remove(name: name) }
        watcher = PluginWatcher(console: console, isVerbose: arguments.isOn(.verbose))
        if output.isReport {
            let known = RequestCommand.request(asked, input: nil)
            RequestCommand.setReport(output, watcher) { Exchange(request: known) }
        }
        // Before the body, because a configuration may be in stdin, too (@/dev/stdin).
        loading = try PluginLoading(arguments, environment: console.environment)
        let input = try RequestCommand.input(asked, arguments, console)
        var request = RequestCommand.request(asked, input: input)
        try RequestCommand.check(request)
        if output.isReport || output.parts.contains(.requestHead) {
            configuration.transport.recordsSentHeads = true
            request.context[SentHeadRecorder.Key.self] = SentHeadRecorder()
        }
        if let path = output.path { try RequestCommand.check(path, isNotReadBy: request) }
        self.request = request
        self.configuration = configuration
        followsRedirects = arguments.isOn(.follow)
        self.countdown = countdown
        isVerbose = arguments.isOn(.verbose)
        countdown?.begin(request)
    }

    func run() async -> ExitCode {
        let progress = ProgressReporter(console: console)
        let printer = ExchangePrinter(
            options: output, console: console, bodyLimit: configuration.maximumResponseSize,
            progress: progress)
        if output.isReport {
            RequestCommand.setReport(output, watcher) { printer.exchangeSoFar(of: request) }
        }
        let service: RequestService
        do {
            service = try makeService(progress)
        } catch {
            guard output.isReport else {
                console.report(error)
                return error.exitCode
            }
            return printer.finish(
                Exchange(
                    request: request, unusablePlugins: error.unusablePlugins,
                    failure: .init(unusablePlugins: error)))
        }
        let input = request.standardInput
        let fault = output.path.flatMap(BodySink.fault)
        let send: @Sendable () async -> Exchange = {
            if let fault { return Exchange(request: request, failure: .init(fault)) }
            return await withTaskCancellationHandler {
                await service.sender.send(request, to: printer)
            } onCancel: {
                input?.cancel()
            }
        }
        var exchange = if let countdown { await countdown.send(send) } else { await send() }
        // The answer may have come before the end of stdin.
        input?.cancel()
        progress.stop()
        if request.url?.scheme?.equalsIgnoringCase("https") == true {
            exchange.certificateAuthority = CurlTransport.certificateAuthorities(
                of: configuration.transport)
        }
        // Before a report, because that has the exit code of the program.
        if output.isReport { exchange.endCode = await endCode(of: service) }
        exchange.unusablePlugins = service.unusablePlugins
        exchange.pluginStatus = service.pluginStatus
        exchange.violations = service.violations
        let exitCode = printer.finish(exchange)
        guard !output.isReport, let endCode = await endCode(of: service) else { return exitCode }
        exchange.endCode = endCode
        if let lateSignal = exchange.lateSignal { console.report(lateSignal.error) }
        return exitCode == .ok || endCode.isOfSignal ? endCode : exitCode
    }

    /// Shuts the plugins down.
    ///
    /// - Returns: The exit code of the program if a signal has ended it, or else, unless there is a
    ///   failure, if a plugin did not end well; `nil` for that of the exchange.
    private func endCode(of service: RequestService) async -> ExitCode? {
        let isRight = await service.shutDown(console, within: countdown?.rest)
        return Task.isCancelled ? CommandError.signalCode : isRight ? nil : .plugin
    }

    /// Sets the report for a program that is ended before the exchange.
    ///
    /// - Parameters:
    ///   - output: The options of the report.
    ///   - watcher: Has recorded the actions of plugins.
    ///   - exchange: Returns what is known of the exchange.
    private static func setReport(
        _ output: OutputOptions, _ watcher: PluginWatcher,
        _ exchange: @escaping @Sendable () -> Exchange
    ) {
        ProcessEnd.setReport { error in
            var exchange = exchange()
            exchange.actions = watcher.take()
            exchange.violations = watcher.violations
            exchange.failure = Exchange.Failure(ending: error)
            return ExchangeReport(showsSecrets: output.showsSecrets).value(
                of: exchange, exitCode: error.exitCode)
        }
    }

    private func makeService(_ progress: ProgressReporter) throws(CommandError) -> RequestService {
        let redirects: Redirector = followsRedirects ? .follow : .doNotFollow
        guard !loading.places.isEmpty || loading.configurationTexts.isEmpty else {
            throw .usage(
                "--plugin-config: no plugins are loaded", advice: "--plugins says where they are")
        }
        let host =
            loading.places.isEmpty
            ? nil
            : try loading.loadForWork(
                observer: watcher, isVerbose: isVerbose, console: console)
        return RequestService(
            configuration, redirects: redirects, host: host, watcher: watcher, progress: progress)
    }

    /// Checks that the body fits the method and the header fields.
    private static func check(_ request: HTTPRequest) throws(CommandError) {
        guard request.method != .head || request.body.isNone else {
            throw .usage(
                "HEAD: a request of this method cannot carry a body",
                advice: "leave the fields out, and stdin unread with --ignore-stdin")
        }
        do {
            try request.checkSyntax()
        } catch {
            throw .usage("\(error)", advice: "leave it out: the program counts the bytes")
        }
    }

    /// Returns the body from stdin; `nil` if stdin contains none or is ignored.
    ///
    /// - Throws: ``CommandError`` if the items define a body and stdin has bytes, too.
    private static func input(
        _ asked: RequestArguments, _ arguments: ParsedArguments, _ console: Console
    ) throws(CommandError) -> HTTPBody? {
        if arguments.isOn(.chunked) { return try chunkedInput(asked, arguments) }
        guard !arguments.isOn(.ignoreStdin), StandardInput.isGiven else { return nil }
        guard asked.body == .unsaid else {
            // Does not wait for bytes here: programs often inherit a pipe that nobody writes to.
            guard StandardInput.hasBytes else { return nil }
            throw .usage(
                "stdin: a second body beside the items", advice: "--ignore-stdin leaves it unread")
        }
        return try StandardInput.body {
            console.note("outlet: stdin: waiting for the body (--ignore-stdin does without)")
        }
    }

    /// Checks that the file for the response is not one that is read meanwhile: as the body of the
    /// request, or as the response.
    private static func check(
        _ path: String, isNotReadBy request: HTTPRequest
    ) throws(CommandError) {
        guard let file = BodySink.identity(of: path), !BodySink(path: path).isSpecial else {
            return
        }
        let sent: FileIdentity? =
            switch request.body {
            case .file(let body): BodySink.identity(of: body)
            case .stream: FileIdentity(of: STDIN_FILENO)
            case .none, .data: nil
            }
        let read = request.url.flatMap { $0.isFileURL ? BodySink.identity(of: $0.path) : nil }
        guard file == sent || file == read else { return }
        let use = file == sent ? "sends" : "reads"
        throw .usage(
            "--output: \(path) is the file that the request \(use)", advice: "name another")
    }

    /// Returns the body from stdin for `--chunked`, even if it turns out to be empty.
    ///
    /// - Throws: ``CommandError`` if stdin is a terminal or not readable, or other options or items contradict.
    private static func chunkedInput(
        _ asked: RequestArguments, _ arguments: ParsedArguments
    ) throws(CommandError) -> HTTPBody {
        guard !arguments.isOn(.ignoreStdin) else {
            throw .usage("--chunked: contradicts --ignore-stdin")
        }
        guard asked.body == .unsaid else {
            throw .usage("--chunked: sends stdin, but the items give the body")
        }
        guard StandardInput.isGiven else {
            let fact =
                StandardInput.isTaken
                ? "read for an item or a configuration"
                : StandardInput.isReadable ? "a terminal" : "not open for reading"
            throw .usage(
                "--chunked: stdin is \(fact)", advice: "a pipe or a file gives the body")
        }
        return .stream(StandardInputBody())
    }

    private static func request(_ asked: RequestArguments, input: HTTPBody?) -> HTTPRequest {
        var request = HTTPRequest(url: asked.url, headers: asked.headers, timeoutInterval: 60)
        var type: String?
        switch asked.body {
        case .unsaid:
            request.body = input ?? .none
            type = input == nil ? nil : asked.isForm ? formType : jsonType
        case .json(let value):
            request.httpBody = value.serialized()
            type = jsonType
        case .form(let text):
            request.httpBody = Data(text.utf8)
            type = formType
        case .raw(let text):
            request.httpBody = Data(text.utf8)
            type = asked.isForm ? formType : jsonType
        case .file(let path):
            request.body = .file(path: path)
            type = path.endsWithBytes(of: ".json") ? jsonType : nil
        }
        request.method = asked.method ?? (request.body.isNone ? .get : .post)
        // 'outlet GET url field=1' names GET explicitly, so its body is allowed.
        request.allowsBodyInGET = true
        add("Content-Type", type, to: &request, asked)
        let wantsJSON = type == jsonType
        add("Accept", wantsJSON ? "application/json, */*;q=0.5" : nil, to: &request, asked)
        return request
    }

    private static let jsonType = "application/json"
    private static let formType = "application/x-www-form-urlencoded; charset=utf-8"

    /// Adds a field unless the items set or remove it.
    private static func add(
        _ name: String, _ value: String?, to request: inout HTTPRequest, _ asked: RequestArguments
    ) {
        guard let value, request.headers[name] == nil,
            !asked.unsetHeaders.contains(where: { $0.equalsIgnoringCase(name) })
        else { return }
        request.headers.append(name: name, value: value)
    }
}

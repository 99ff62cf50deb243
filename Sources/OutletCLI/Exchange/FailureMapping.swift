import FoundationEssentials
import Outlet

extension Exchange.Failure {
    /// Converts an error of the session.
    ///
    /// - Parameters:
    ///   - error: The session's error.
    ///   - request: The request, whose method and URL are part of the message.
    init(_ error: SessionError, request: HTTPRequest) {
        let place = Self.place(of: request)
        if error.isExplicitlyCancelledError {
            self.init(
                error: .cancelled(place), code: "cancelled", stage: "")
            return
        }
        if error.isRequestAdaptationError, let invalid = error.underlyingError as? SessionError,
            case .urlRequestValidationFailed = invalid
        {
            self.init(
                error: CommandError(.plugin, "\(place): \(TerminalText.visibleLine("\(invalid)"))"),
                code: TransferError.Code.badRequest.rawValue, stage: "")
            return
        }
        if error.isRequestAdaptationError || error.isRequestRetryError
            || error.underlyingError is PluginError
        {
            self.init(pluginError: error.underlyingError ?? error, request: request)
            return
        }
        // Of the usual checks, which plugins with a trust hook replace in the transport.
        if error.isServerTrustEvaluationError {
            self.init(
                error: CommandError(
                    .failure,
                    "\(place): the server's certificate is not trusted here: \(Self.text(error))",
                    advice: "if you trust its authority, --cacert FILE names it"),
                code: TransferError.Code.serverCertificateUntrusted.rawValue,
                stage: TransferError.Stage.securing.rawValue)
            return
        }
        guard let transfer = error.transferError else {
            self.init(
                error: CommandError(.failure, "\(place): \(Self.text(error))"), code: "failed",
                stage: "")
            return
        }
        self.init(
            error: CommandError(
                Self.exitCode(of: transfer.code),
                "\(place): \(SettingNames.replaced(inReason: transfer.reason))",
                advice: SettingNames.replaced(inAdvice: transfer.advice)),
            code: transfer.code.rawValue, stage: transfer.stage.rawValue)
    }

    /// Converts an error of a plugin.
    init(pluginError error: any Error, request: HTTPRequest) {
        let place = Self.place(of: request)
        let words = TerminalText.visibleLine("\(error)")
        self.init(
            error: CommandError(
                .plugin, "\(place): a plugin failed the request: \(words)",
                pluginCode: (error as? PluginError)?.code ?? ""),
            code: "pluginFailed", stage: "")
    }

    /// The number of changes by plugins that a message describes.
    private static let namedChanges = 4
    /// The number of bytes after which the description of a change is cut off.
    private static let longestSummary = 300

    /// The failure with the plugins that have changed the request, if it is the request that is
    /// invalid.
    ///
    /// - Parameters:
    ///   - actions: The actions of plugins for the request.
    ///   - request: The request of the command line. If that is invalid by itself, the exit code
    ///     stays.
    func naming(changersIn actions: [PluginAction], of request: HTTPRequest) -> Exchange.Failure {
        let changes = actions.filter { !$0.effects.isEmpty && $0.failure == nil }
        guard code == TransferError.Code.badRequest.rawValue, !changes.isEmpty else { return self }
        var facts = changes.prefix(Self.namedChanges).map { change in
            let summary = change.summary ?? ""
            let isLong = summary.utf8.count > Self.longestSummary
            let shown = summary.prefix(bytes: Self.longestSummary) + (isLong ? "…" : "")
            return "\(change.plugin) in \(change.hook) (\(shown))"
        }
        if changes.count > facts.count { facts.append("and \(changes.count - facts.count) more") }
        var failure = self
        let isValid =
            (try? request.checkSyntax()) != nil
            && (request.method != .head || request.body.isNone)
        failure.error = CommandError(
            isValid ? .plugin : error.exitCode,
            "\(error.message); changed by plugin \(facts.joined(separator: ", "))",
            advice: error.advice)
        return failure
    }

    /// The failure with the output whose reader has held up the request.
    func naming(output: String, taking time: Duration) -> Exchange.Failure {
        let shown = Quantity.duration(Int64(time / .microseconds(1)))
        var failure = self
        failure.error = CommandError(
            error.exitCode, "\(error.message); writing to \(output) took \(shown) of that time",
            advice: error.advice, pluginCode: error.pluginCode)
        return failure
    }

    /// Makes the failure of a request that is not sent because plugins cannot be used.
    init(unusablePlugins error: CommandError) {
        self.init(error: error, code: "pluginUnusable", stage: "")
    }

    /// Makes the failure of a request that exceeded the time limit.
    ///
    /// - Parameters:
    ///   - seconds: The time limit in seconds.
    ///   - blocker: A description of what the program waited for; `nil` if it is unknown.
    ///   - request: The request, whose method and URL are part of the message.
    init(timedOutAfter seconds: Double, waitingFor blocker: String?, request: HTTPRequest) {
        let place = Self.place(of: request)
        let what = blocker ?? "redirects and retries included"
        self.init(
            error: CommandError(
                .timeout, "\(place): no answer within \(seconds) s, \(what)",
                advice: "--timeout allows more"),
            code: TransferError.Code.timedOut.rawValue, stage: "")
    }

    /// Makes the failure of an exchange whose program is ended from outside of it.
    init(ending error: CommandError) {
        let code =
            switch error.exitCode {
            case .timeout: TransferError.Code.timedOut.rawValue
            case .plugin: "pluginFailed"
            default: TransferError.Code.cancelled.rawValue
            }
        self.init(error: error, code: code, stage: "")
    }

    /// Makes the failure of output that cannot be written.
    ///
    /// - Parameters:
    ///   - error: The error of the output.
    ///   - stage: The stage of the transfer; empty if the request was not sent.
    init(_ error: OutputError, stage: String = "") {
        self.init(
            error: CommandError(error),
            code: TransferError.Code.cannotWriteToFile.rawValue, stage: stage)
    }

    /// Returns the method and the URL of a request without secrets, for messages.
    static func place(of request: HTTPRequest) -> String {
        guard let url = request.url else { return "\(request.method.rawValue) request" }
        return "\(request.method.rawValue) \(Redaction.standard.shortAddress(url.absoluteString))"
    }

    private static func text(_ error: SessionError) -> String {
        error.underlyingError.map { "\($0)" } ?? "\(error)"
    }

    /// Makes the failure of a response whose body is too large for a report.
    ///
    /// - Parameters:
    ///   - limit: The limit in bytes.
    ///   - request: The request, whose method and URL are part of the message.
    init(bodyAbove limit: Int64, request: HTTPRequest) {
        self.init(
            error: CommandError(
                .failure, "\(Self.place(of: request)): \(OutputError.tooLarge(limit: limit))",
                advice:
                    "raise --\(Option.ID.maxResponseSize.rawValue), or write it to a file with -o"),
            code: TransferError.Code.dataLengthExceedsMaximum.rawValue, stage: "receiving")
    }

    private static func exitCode(of code: TransferError.Code) -> ExitCode {
        switch code {
        case .timedOut: .timeout
        case .httpTooManyRedirects: .tooManyRedirects
        case .cancelled: CommandError.signalCode
        // The settings come from the command line.
        case .badConfiguration: .usage
        default: .failure
        }
    }
}

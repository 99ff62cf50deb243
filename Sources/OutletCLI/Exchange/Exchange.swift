import FoundationEssentials
import Outlet

/// A request and its results.
struct Exchange: Sendable {
    /// The last request that was sent.
    var request: HTTPRequest
    /// The last response head received; `nil` if there is none.
    var response: HTTPResponse?
    /// The trailer fields of the response (RFC 9110 §6.5); empty if there are none.
    var trailers: HTTPHeaders = [:]
    /// The path of the file with the response's body; `nil` if none was written.
    var savedPath: String?
    /// The metrics of the last attempt.
    var metrics: TransferMetrics?
    /// The number of attempts; redirects do not count.
    var attempts = 1
    /// The actions of plugins for this request, in order.
    var actions: [PluginAction] = []
    /// Why the last retry that a plugin asked for was not made; `nil` if none was refused.
    var refusedRetry: RetryGuard.Refusal?
    /// The certificate authorities that the server was checked against; empty without TLS.
    var certificateAuthority = ""
    /// The errors of plugins that cannot be used.
    var unusablePlugins: [PluginLoadError] = []
    /// The statistics of the plugins since they were loaded.
    var pluginStatus: [PluginStatus] = []
    /// The violations by plugins from their loading until the end of the request, for a report until
    /// theirs: for each plugin and hook, the first of each kind.
    var violations: [PluginMisbehaviour] = []
    /// The exit code if the plugins have not ended well after the exchange, or a signal has ended the
    /// program since; else `nil`.
    var endCode: ExitCode?
    /// Why there is no complete response; `nil` if there is one.
    var failure: Failure?

    /// The reason why a request has no complete response.
    struct Failure: Sendable, Equatable {
        /// The error to print, with its exit code.
        var error: CommandError
        /// A stable code for programs, such as `cannotFindHost`.
        var code: String
        /// The stage of the transfer, such as `resolving`; empty if no transfer failed.
        var stage: String
    }
}

extension Exchange {
    /// Whether an empty body is the content that was asked for, and not the lack of one.
    ///
    /// Responses to `HEAD`, and with the statuses 204, 205 and 304, have no content (RFC 9110
    /// §6.4.1), and an empty error or redirect is none.
    var hasEmptyContent: Bool {
        guard let status = response?.statusCode else { return true }
        return (200..<300).contains(status) && status != 204 && status != 205
            && request.method != .head
    }

    /// The note about a retry that was not made; `nil` if there is none.
    var retryNote: String? {
        guard let refusedRetry else { return nil }
        let asking = actions.last { $0.hook == PluginHook.retry.rawValue && !$0.effects.isEmpty }
        let plugin = asking.map { "plugin \($0.plugin)" } ?? "a plugin"
        let reason =
            switch refusedRetry {
            case .responseBegun: "a part of the response was there already"
            case .inputSpent:
                "stdin cannot be read again (a file, with @FILE, can be sent again)"
            }
        return "outlet: \(plugin): the attempt that it asked for was not made: \(reason)"
    }

    /// The failure of a program that a signal has ended after the exchange; `nil` if none has.
    var lateSignal: Failure? {
        guard endCode?.isOfSignal == true, failure?.error.exitCode.isOfSignal != true else {
            return nil
        }
        return Failure(ending: .cancelled("\(Failure.place(of: request)): after the exchange"))
    }

    /// Returns the exit code of the program.
    ///
    /// - Parameter checksStatus: Whether a status of 300 and above counts as a failure.
    func exitCode(checksStatus: Bool) -> ExitCode {
        if let endCode, endCode.isOfSignal { return endCode }
        if let failure { return failure.error.exitCode }
        let code = response.map { checksStatus ? ExitCode(status: $0.statusCode) : .ok } ?? .ok
        return code == .ok ? endCode ?? .ok : code
    }
}

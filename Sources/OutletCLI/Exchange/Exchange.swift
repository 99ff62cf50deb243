import FoundationEssentials
import Outlet

/// One request with all that came of it.
struct Exchange: Sendable {
    /// The request as it went out last.
    var request: HTTPRequest
    /// The last head received.
    var response: HTTPResponse?
    /// The file that took the body.
    var savedPath: String?
    /// What was measured of the last attempt.
    var metrics: TransferMetrics?
    /// How often the request went out, redirects not counted.
    var attempts = 1
    /// What the plugins did, in order.
    var actions: [PluginAction] = []
    /// Which authorities a certificate is checked against; empty without TLS.
    var certificateAuthority = ""
    /// What the plugins have done.
    var pluginStatus: [PluginStatus] = []
    /// Why there is no whole response.
    var failure: Failure?

    /// Why a request has no whole response.
    struct Failure: Sendable, Equatable {
        /// The line for people.
        var error: CommandError
        /// A word for programs, such as `cannotFindHost`.
        var code: String
        /// Where in the transfer's life, such as `resolving`; empty when it was not in one.
        var stage: String
    }
}

extension Exchange {
    /// The program's answer to the shell.
    ///
    /// - Parameter checksStatus: Whether a status of 300 and above counts as a failure.
    func exitCode(checksStatus: Bool) -> ExitCode {
        if let failure { return failure.error.exitCode }
        guard let response, checksStatus else { return .ok }
        return ExitCode(status: response.statusCode)
    }
}

/// The exit codes of the program; 0 to 7 and 130 have the same meaning as in HTTPie.
public enum ExitCode: Int32, Sendable, CaseIterable {
    /// The response arrived, and its status is below 300.
    case ok = 0
    /// There is no response, it is incomplete, or its body is not the JSON that it claims to be and that
    /// `--json` or `--pretty` asks for.
    case failure = 1
    /// The time limit has passed, also if a plugin has not returned by then.
    case timeout = 2
    /// The status is 3xx, and redirects are not followed.
    case redirection = 3
    /// The status is 4xx.
    case clientError = 4
    /// The status is 5xx, or outside 100...599, which is treated as 5xx (RFC 9110 §15).
    case serverError = 5
    /// There were more redirects than allowed.
    case tooManyRedirects = 6
    /// A plugin cannot be used, is missing, failed the request or `plugins check`, or did not end in
    /// time or broke a rule at its end.
    case plugin = 7
    /// The command line is wrong.
    case usage = 64
    /// A plugin directory or file cannot be read.
    case noInput = 66
    /// The program was ended by SIGHUP: its terminal was closed.
    case hungUp = 129
    /// The program was ended by SIGINT (^C).
    case interrupted = 130
    /// The program was ended by SIGTERM.
    case terminated = 143
}

extension ExitCode {
    /// Makes the exit code of a response's status.
    ///
    /// - Parameter status: The status code; one outside 100...599 counts as 5xx.
    public init(status: Int) {
        switch status {
        case 100..<300: self = .ok
        case 300..<400: self = .redirection
        case 400..<500: self = .clientError
        default: self = .serverError
        }
    }

    /// Whether a signal has ended the program.
    var isOfSignal: Bool {
        switch self {
        case .hungUp, .interrupted, .terminated: true
        default: false
        }
    }

    /// The meaning of the code, as shown in the help.
    public var explanation: String {
        switch self {
        case .ok: "response with a status below 300"
        case .failure: "no response, a broken one, or invalid JSON with --json or --pretty"
        case .timeout: "the time allowed has passed, in a plugin too"
        case .redirection: "status 3xx, not followed (see --follow)"
        case .clientError: "status 4xx"
        case .serverError: "status 5xx, or outside of 100 to 599"
        case .tooManyRedirects: "more redirects than --max-redirects"
        case .plugin: "a plugin is unusable, missing, failed, or did not end well"
        case .usage: "wrong command line"
        case .noInput: "plugin directory or file unreadable"
        case .hungUp: "hung up (SIGHUP)"
        case .interrupted: "interrupted (SIGINT)"
        case .terminated: "terminated (SIGTERM)"
        }
    }
}

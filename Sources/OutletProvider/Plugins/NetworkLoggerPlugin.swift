public import FoundationEssentials
public import OutletHTTP
import OutletObservation
import OutletSession
import OutletTransport

/// Logs requests and responses.
///
/// Secrets in URLs, headers and bodies are redacted by ``Configuration/redaction``.
public final class NetworkLoggerPlugin: PluginType {
    private let settings: Lock<Configuration>

    /// What is logged, and how.
    ///
    /// A change applies to later events. Thread: any.
    public var configuration: Configuration {
        get { settings.withLock { $0 } }
        set { settings.withLock { $0 = newValue } }
    }

    /// Makes a logger.
    ///
    /// - Parameter configuration: What is logged; by default method, URL and headers, printed to
    ///   standard output.
    public init(configuration: Configuration = Configuration()) {
        settings = Lock(configuration)
    }

    /// A new logger of method, URL and headers (``Configuration/LogOptions/default``).
    public class var `default`: NetworkLoggerPlugin { NetworkLoggerPlugin() }

    /// A new logger of headers and bodies too (``Configuration/LogOptions/verbose``).
    public class var verbose: NetworkLoggerPlugin {
        NetworkLoggerPlugin(configuration: Configuration(logOptions: .verbose))
    }

    /// Logs the request.
    ///
    /// - Parameters:
    ///   - request: The prepared request; can be given a credential here.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func willSend(_ request: any RequestType, target: any TargetType) {
        let configuration = configuration
        guard configuration.logOptions.contains(.formatRequestAscURL) else {
            let entries = configuration.entries(of: request)
            return configuration.write(entries, target)
        }
        _ = request.cURLDescription { command in
            configuration.write([("Request", command)], target)
        }
    }

    /// Logs the response, or the error if there is none.
    ///
    /// - Parameters:
    ///   - result: The validated response, or the error.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func didReceive(_ result: Result<Response, ProviderError>, target: any TargetType) {
        let configuration = configuration
        switch result {
        case .success(let response):
            configuration.write(configuration.entries(of: response, target, isError: false), target)
        case .failure(let error):
            guard let response = error.response else {
                let reason = configuration.redaction.text("\(error)")
                let text = "Error calling \(Configuration.name(of: target)) : \(reason)"
                return configuration.write([("Error", text)], target)
            }
            configuration.write(configuration.entries(of: response, target, isError: true), target)
        }
    }
}

extension NetworkLoggerPlugin {
    /// What a logger writes, and how.
    public struct Configuration: Sendable {
        /// Writes the lines of one request or one response.
        ///
        /// Thread: for requests, that of ``PluginType/willSend(_:target:)``; for responses, that of
        /// the completion. Calls for several requests may overlap.
        public typealias OutputType =
            @Sendable (_ target: any TargetType, _ items: [String]) -> Void

        /// Formats lines and bodies.
        public var formatter: Formatter
        /// Writes the lines; prints them by default.
        public var output: OutputType
        /// Which parts are logged.
        public var logOptions: LogOptions
        /// Which parts of URLs, headers and bodies are secrets.
        public var redaction: Redaction

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - formatter: Formats lines and bodies; bodies arrive redacted.
        ///   - output: Writes the lines; prints them to standard output by default.
        ///   - logOptions: Which parts are logged; by default method, URL and headers.
        ///   - redaction: Which parts of URLs, headers and bodies are secrets.
        public init(
            formatter: Formatter = Formatter(),
            output: @escaping OutputType = Configuration.defaultOutput,
            logOptions: LogOptions = .default, redaction: Redaction = .standard
        ) {
            self.formatter = formatter
            self.output = output
            self.logOptions = logOptions
            self.redaction = redaction
        }

        /// Prints each line to standard output.
        ///
        /// Characters that would act on a terminal, such as ESC, are replaced by a visible form; line
        /// feeds and tabs are not.
        ///
        /// - Parameters:
        ///   - target: The target of the request.
        ///   - items: The entries, one per line.
        public static func defaultOutput(target: any TargetType, items: [String]) {
            print(printed(items), terminator: "")
        }

        /// The text that ``defaultOutput(target:items:)`` prints.
        package static func printed(_ items: [String]) -> String {
            items.map { TerminalText.visible($0) + "\n" }.joined()
        }
    }
}

extension NetworkLoggerPlugin.Configuration {
    /// Which parts of requests and responses are logged.
    public struct LogOptions: OptionSet, Sendable {
        /// The request's method.
        public static let requestMethod = LogOptions(rawValue: 1 << 0)
        /// The request's body.
        public static let requestBody = LogOptions(rawValue: 1 << 1)
        /// The request's headers, the session's included.
        public static let requestHeaders = LogOptions(rawValue: 1 << 2)
        /// The request as a curl command line; the other request options have no effect then.
        public static let formatRequestAscURL = LogOptions(rawValue: 1 << 3)
        /// The body of a response that validation accepted.
        public static let successResponseBody = LogOptions(rawValue: 1 << 4)
        /// The body of a response that validation refused.
        public static let errorResponseBody = LogOptions(rawValue: 1 << 5)
        /// Method and headers.
        public static let `default`: LogOptions = [.requestMethod, .requestHeaders]
        /// Everything except ``formatRequestAscURL``.
        public static let verbose: LogOptions = [
            .requestMethod, .requestHeaders, .requestBody, .successResponseBody,
            .errorResponseBody,
        ]

        /// The bits.
        public let rawValue: Int

        /// Makes options from bits; unknown bits have no effect.
        ///
        /// - Parameter rawValue: The bits of the options.
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// Formats a logger's lines and bodies.
    public struct Formatter: Sendable {
        /// Returns a line from an identifier, such as `Response Body`, and its message.
        public typealias EntryFormatterType =
            @Sendable (_ identifier: String, _ message: String, _ target: any TargetType) -> String
        /// Returns the text of a body.
        public typealias DataFormatterType = @Sendable (Data) -> String

        /// Formats a line.
        public var entry: EntryFormatterType
        /// Formats a request's body.
        public var requestData: DataFormatterType
        /// Formats a response's body.
        public var responseData: DataFormatterType

        /// Makes a formatter.
        ///
        /// - Parameters:
        ///   - entry: Returns a line, without a line feed; by default `Outlet: [time] identifier:
        ///     message`.
        ///   - requestData: Returns the text of a request's body in memory, after redaction; not
        ///     called for files, streams and bodies with a content coding.
        ///   - responseData: Returns the text of a response's body, after redaction.
        public init(
            entry: @escaping EntryFormatterType = Formatter.defaultEntry,
            requestData: @escaping DataFormatterType = Formatter.defaultData,
            responseData: @escaping DataFormatterType = Formatter.defaultData
        ) {
            self.entry = entry
            self.requestData = requestData
            self.responseData = responseData
        }

        /// Returns `Outlet: [time] identifier: message`, the time in UTC (ISO 8601).
        ///
        /// - Parameters:
        ///   - identifier: The kind of the entry, such as `Request`.
        ///   - message: The text.
        ///   - target: The target of the request.
        public static func defaultEntry(
            identifier: String, message: String, target: any TargetType
        ) -> String {
            "Outlet: [\(Date.now.formatted(.iso8601))] \(identifier): \(message)"
        }

        /// Returns the body as text if it is UTF-8, else its length in bytes.
        ///
        /// - Parameter data: The body.
        public static func defaultData(data: Data) -> String {
            String(data: data, encoding: .utf8) ?? "\(data.count) bytes that are not text"
        }
    }
}

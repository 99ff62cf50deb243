public import FoundationEssentials
public import OutletHTTP
import OutletObservation
import OutletSession
import OutletTransport

/// Writes down what is sent and received.
///
/// Secrets in addresses, fields and bodies are left out unless the configuration says otherwise.
public final class NetworkLoggerPlugin: PluginType {
    private let settings: Lock<Configuration>

    /// What is written down, and how; may be changed at any time.
    public var configuration: Configuration {
        get { settings.withLock { $0 } }
        set { settings.withLock { $0 = newValue } }
    }

    /// Makes a logger.
    public init(configuration: Configuration = Configuration()) {
        settings = Lock(configuration)
    }

    /// A logger of method and fields.
    public class var `default`: NetworkLoggerPlugin { NetworkLoggerPlugin() }

    /// A logger of everything.
    public class var verbose: NetworkLoggerPlugin {
        NetworkLoggerPlugin(configuration: Configuration(logOptions: .verbose))
    }

    /// Writes down the request.
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

    /// Writes down the response, or why there is none.
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
    /// What a logger writes down, and how.
    public struct Configuration: Sendable {
        /// Takes the lines of one event.
        public typealias OutputType =
            @Sendable (_ target: any TargetType, _ items: [String]) -> Void

        /// Makes the texts.
        public var formatter: Formatter
        /// Takes the lines; prints them by default.
        public var output: OutputType
        /// What is written down.
        public var logOptions: LogOptions
        /// What is left out of addresses, fields and bodies.
        public var redaction: Redaction

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - formatter: Makes the texts.
        ///   - output: Takes the lines.
        ///   - logOptions: What is written down.
        ///   - redaction: What is left out of addresses, fields and bodies.
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

        /// Prints each line.
        public static func defaultOutput(target: any TargetType, items: [String]) {
            for item in items { print(item, terminator: "\n") }
        }
    }
}

extension NetworkLoggerPlugin.Configuration {
    /// What a logger writes down.
    public struct LogOptions: OptionSet, Sendable {
        /// The request's method.
        public static let requestMethod = LogOptions(rawValue: 1 << 0)
        /// The request's body.
        public static let requestBody = LogOptions(rawValue: 1 << 1)
        /// The request's fields, the session's included.
        public static let requestHeaders = LogOptions(rawValue: 1 << 2)
        /// The request as a command line for curl, and nothing else of it.
        public static let formatRequestAscURL = LogOptions(rawValue: 1 << 3)
        /// The body of a response that was accepted.
        public static let successResponseBody = LogOptions(rawValue: 1 << 4)
        /// The body of a response that was refused.
        public static let errorResponseBody = LogOptions(rawValue: 1 << 5)
        /// Method and fields.
        public static let `default`: LogOptions = [.requestMethod, .requestHeaders]
        /// Everything, but not as a command line.
        public static let verbose: LogOptions = [
            .requestMethod, .requestHeaders, .requestBody, .successResponseBody,
            .errorResponseBody,
        ]

        /// The bits.
        public let rawValue: Int

        /// Makes options of bits.
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// Makes a logger's texts.
    public struct Formatter: Sendable {
        /// Makes a line of what it is about and what there is to say.
        public typealias EntryFormatterType =
            @Sendable (_ identifier: String, _ message: String, _ target: any TargetType) -> String
        /// Makes text of a body.
        public typealias DataFormatterType = @Sendable (Data) -> String

        /// Makes a line.
        public var entry: EntryFormatterType
        /// Makes text of a request's body.
        public var requestData: DataFormatterType
        /// Makes text of a response's body.
        public var responseData: DataFormatterType

        /// Makes a formatter.
        public init(
            entry: @escaping EntryFormatterType = Formatter.defaultEntry,
            requestData: @escaping DataFormatterType = Formatter.defaultData,
            responseData: @escaping DataFormatterType = Formatter.defaultData
        ) {
            self.entry = entry
            self.requestData = requestData
            self.responseData = responseData
        }

        /// The time (UTC), what it is about, what there is to say.
        public static func defaultEntry(
            identifier: String, message: String, target: any TargetType
        ) -> String {
            "Outlet: [\(Date.now.formatted(.iso8601))] \(identifier): \(message)"
        }

        /// The text, if it is UTF-8.
        public static func defaultData(data: Data) -> String {
            String(data: data, encoding: .utf8) ?? "\(data.count) bytes that are not text"
        }
    }
}

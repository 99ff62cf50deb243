import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletTLS
import OutletTransport

/// A configuration in the form that the loops of a transport use; made once and never changed.
final class TransportSettings: Sendable {
    let configuration: TransportConfiguration
    /// The settings that can have invalid values.
    let checked: CheckedSettings
    let proxies: ProxyResolver
    /// The proxies that are connected to over TLS, by their URLs without credentials.
    let secureProxies: [String: SecureProxy]
    /// The certificate authorities, or why there are none; that error fails https transfers only.
    let trust: Result<TrustStore, TransferError>
    /// Verifies certificates for the session's own server trust evaluators.
    let verifier: OpenSSLVerifier
    /// Tells the client certificates apart.
    let certificateNumbers = ClientCertificateNumbers()
    /// Whether what is sent and received is logged to stderr.
    let logsWire: Bool
    /// The time limit of a whole transfer, in µs; `nil` for no limit.
    let resourceLimit: Int64?
    /// Which addresses may be connected to; `nil` if all may.
    let addressPolicy: AddressPolicy?
    /// The maximum number of transfers that wait for a connection.
    let queueLimit: Int
    /// The `timeoutInterval` of a request that does not set its own.
    ///
    /// ``patience(of:)`` replaces it by `usualPatience`, the configuration's limit in µs.
    private let usualTimeout = HTTPRequest.defaultTimeoutInterval
    private let usualPatience: Int64?
    private let environment: Environment

    init(_ configuration: TransportConfiguration, environment: Environment) {
        self.configuration = configuration
        self.environment = environment
        checked = CheckedSettings(configuration, environment: environment)
        let isLocal = configuration.unixSocketPath != nil
        let proxies = ProxyResolver(
            isLocal ? .none : configuration.proxy, environment: environment.texts)
        self.proxies = proxies
        secureProxies = Dictionary(
            proxies.all.compactMap { proxy in
                SecureProxy(proxy).map { (ProxyAddress.withoutCredentials(proxy), $0) }
            }, uniquingKeysWith: { first, _ in first })
        let wireLog = environment.texts[Environment.ofWireLog] ?? ""
        logsWire = configuration.logsWire || !["", "0"].contains(wireLog)
        resourceLimit = microseconds(configuration.timeoutIntervalForResource)
        addressPolicy =
            configuration.addressPolicy.isUnrestricted ? nil : configuration.addressPolicy
        queueLimit = max(0, configuration.maximumQueuedRequests)
        usualPatience = microseconds(configuration.timeoutIntervalForRequest)
        let trust = Self.trust(configuration.certificateAuthorities, environment)
        self.trust = trust
        verifier = OpenSSLVerifier(trust)
    }

    /// The same settings with the certificates read again.
    func reloaded() -> TransportSettings {
        TransportSettings(configuration, environment: environment)
    }

    /// Whether user code runs when a transfer starts: a server trust manager or a client
    /// certificate provider, for https servers and proxies.
    func callsProgram(for job: borrowing TransferJob) -> Bool {
        guard configuration.clientCertificateProvider != nil || job.serverTrustManager != nil else {
            return false
        }
        return job.request.url?.scheme?.equalsIgnoringCase("https") == true
            || !secureProxies.isEmpty
    }

    /// Finds the files of the certificate authorities.
    ///
    /// - Returns: The files, or an error with the reason why there are none.
    static func trust(
        _ authorities: CertificateAuthorities, _ environment: Environment
    ) -> Result<TrustStore, TransferError> {
        // OpenSSL opens the file on the loop's thread, and opening a named pipe blocks until it has
        // a writer. So anything but a plain file is an error.
        func store(
            _ store: TrustStore, unless fault: NotPlainFile?
        ) -> Result<TrustStore, TransferError> {
            guard let fault else { return .success(store) }
            return .failure(
                TransferError(
                    code: .secureConnectionFailed, stage: .preparing,
                    reason: "certificate authorities: \(fault)"))
        }
        switch authorities {
        case .file(let path): return store(TrustStore(bundle: path), unless: NotPlainFile(path))
        case .directory(let path):
            return store(
                TrustStore(directory: path), unless: TrustStore.fault(inDirectory: path))
        case .system:
            do throws(TransferError) {
                try environment.check(Environment.ofAuthorities)
            } catch {
                return .failure(error)
            }
            do throws(TrustStoreError) {
                return .success(try TrustStore.find(environment: environment.texts))
            } catch {
                return .failure(
                    TransferError(
                        code: .secureConnectionFailed, stage: .preparing,
                        reason: error.description, advice: error.advice))
            }
        }
    }

    /// The maximum number of connections to an origin.
    func connectionLimit(of origin: Origin) -> Int {
        configuration.maximumConnectionsPerOrigin[origin]
            ?? configuration.httpMaximumConnectionsPerHost
    }

    /// The maximum number of connections to any one origin.
    var largestConnectionLimit: Int {
        configuration.maximumConnectionsPerOrigin.values.reduce(
            configuration.httpMaximumConnectionsPerHost, max)
    }

    /// How long a request may make no progress, in µs; `nil` for no limit.
    func patience(of request: HTTPRequest) -> Int64? {
        let own = request.timeoutInterval
        return own == usualTimeout ? usualPatience : microseconds(own)
    }
}

/// Converts seconds to µs, rounded to whole milliseconds, at least one; `nil` for 0 (no limit).
private func microseconds(_ seconds: TimeInterval) -> Int64? {
    milliseconds(seconds).map { Int64($0) * 1000 }
}
